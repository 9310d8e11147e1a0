#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"
#include "operator/placement/spot_bounds.h"

// Tests what Place() prefers among the placements that keep the bounds on spot nodes, and what it
// says if no placement does; spot_property_test.cc tests that it finds one.
namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

NodeInventory Node(const std::string& name, int64_t gpus, const std::string& leaf = "") {
  NodeInventory node;
  node.name = name;
  node.free = node.allocatable = {gpus, 64'000, int64_t{1} << 40, 100};
  node.domains = {leaf};
  return node;
}

NodeInventory Spot(const std::string& name, int64_t gpus, const std::string& pool,
                   const std::string& leaf = "") {
  NodeInventory node = Node(name, gpus, leaf);
  node.spot = true;
  node.spot_pool = pool;
  return node;
}

GangRequest Gang(int min, int max, double fraction, int floor) {
  GangRequest request;
  request.per_worker = {1, 1000, 1 << 20, 1};
  request.min = min;
  request.max = max;
  request.spot = {true, true, fraction, floor};
  return request;
}

std::vector<std::string> NodesOf(const Inventory& inventory, const GangRequest& request) {
  const auto answer = Place(inventory, request);
  if (const auto* no = std::get_if<Unplaceable>(&answer)) ADD_FAILURE() << no->sentence;
  return std::holds_alternative<Placement>(answer) ? std::get<Placement>(answer).nodes
                                                   : std::vector<std::string>();
}

Unplaceable RefusalOf(const Inventory& inventory, const GangRequest& request) {
  const auto answer = Place(inventory, request);
  if (answer.index() == 1) return std::get<Unplaceable>(answer);
  ADD_FAILURE() << "it was placed";
  return {};
}

TEST(SpotBoundsTest, TheFractionIsRoundedDownAndTheFloorIsAllOfASmallerGang) {
  const SpotBounds half{true, true, 0.5, 0};
  EXPECT_EQ(half.MostOf(5), 2);
  EXPECT_EQ(half.MostOf(1), 0);
  const SpotBounds of_hundred{true, true, 0.29, 0};
  EXPECT_EQ(of_hundred.MostOf(100), 29) << "0.29 * 100 is a little less than 29";
  const SpotBounds floor{true, true, 1, 3};
  EXPECT_EQ(floor.MostOf(5), 2);
  EXPECT_EQ(floor.MostOf(2), 0);
  const SpotBounds both{true, true, 0.5, 3};
  EXPECT_EQ(both.MostOf(4), 1);
  EXPECT_EQ(both.MostOf(8), 4);
  EXPECT_EQ((SpotBounds{true, false, 1, 0}.MostOf(8)), 0);
  EXPECT_EQ(SpotBounds().MostOf(8), 8);
}

TEST(SpotBoundsTest, SlicesThatAreKeptWholeCostWhatTheirCheapestPartsCost) {
  SpotCosts costs;
  costs.Add(1, 5);
  costs.Add(0, 3);
  const SpotCosts pairs = costs.Grouped(2);
  EXPECT_THAT(pairs.runs(),
              ElementsAre(SpotCosts::Run{0, 1}, SpotCosts::Run{1, 1}, SpotCosts::Run{2, 2}));
  EXPECT_EQ(pairs.CostOf(3), 3);
}

TEST(SpotPlacementTest, AsManyAsMayBeAreOnSpotNodesAndTheFirstWorkersAreNot) {
  const Inventory inventory{{"leaf"}, {Spot("a", 8, "p", "l"), Node("b", 3, "l")}};
  EXPECT_THAT(NodesOf(inventory, Gang(4, 4, 0.5, 0)), ElementsAre("b", "b", "a", "a"));
  EXPECT_THAT(NodesOf(inventory, Gang(4, 4, 1, 3)), ElementsAre("b", "b", "b", "a"));
}

TEST(SpotPlacementTest, ACloserLevelGoesBeforeSpotNodes) {
  const Inventory inventory{
      {"leaf"}, {Spot("a", 8, "p", "x"), Node("b", 2, "x"), Node("c", 2, "y"), Node("d", 2, "y")}};
  GangRequest request = Gang(4, 4, 0.25, 0);
  request.preferred_level = "leaf";
  EXPECT_THAT(NodesOf(inventory, request), ElementsAre("c", "c", "d", "d"))
      << "leaf x has two places off spot nodes, and three are needed";
}

TEST(SpotPlacementTest, SpotWorkersAreSpreadOverPoolsBeforeNodesAreFilled) {
  const Inventory inventory{{},
                            {Node("a", 2), Spot("b", 1, "p"), Spot("c", 1, "p"), Spot("d", 1, "p"),
                             Spot("e", 1, "q"), Spot("f", 1, "r")}};
  const std::vector<std::string> nodes = NodesOf(inventory, Gang(5, 5, 1, 2));
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_THAT(std::vector<std::string>(nodes.begin() + 2, nodes.end()),
              UnorderedElementsAre("b", "e", "f"));
}

TEST(SpotPlacementTest, PoolsGoBeforeTheTightestNodeButNotBeforeFewerNodes) {
  const Inventory tight{{}, {Spot("a", 2, "p"), Spot("b", 2, "p"), Spot("c", 3, "q")}};
  EXPECT_THAT(NodesOf(tight, Gang(4, 4, 1, 0)), UnorderedElementsAre("a", "a", "c", "c"))
      << "c has room left over, but is of another pool than a";
  const Inventory few{{}, {Node("a", 1), Spot("b", 2, "p"), Spot("c", 1, "q"), Spot("d", 1, "q")}};
  EXPECT_THAT(NodesOf(few, Gang(3, 3, 1, 1)), ElementsAre("a", "b", "b"));
}

TEST(SpotPlacementTest, AmongEquallyTightDomainsTheOneWithMorePoolsIsTaken) {
  const Inventory inventory{{"leaf"},
                            {Spot("a", 1, "p", "x"), Spot("b", 1, "p", "x"), Spot("c", 1, "p", "y"),
                             Spot("d", 1, "q", "y")}};
  EXPECT_THAT(NodesOf(inventory, Gang(2, 2, 1, 0)), ElementsAre("c", "d"));
}

TEST(SpotPlacementTest, SlicesOffSpotNodesComeFirst) {
  const Inventory inventory{{}, {Spot("a", 4, "p"), Node("b", 2), Node("c", 2)}};
  GangRequest request = Gang(6, 6, 1, 2);
  request.slices = {{2, "host"}};
  EXPECT_THAT(NodesOf(inventory, request), ElementsAre("b", "b", "a", "a", "a", "a"));
}

TEST(SpotPlacementTest, ASliceMayBeOnBothKindsOfNodes) {
  const Inventory inventory{
      {"leaf"},
      {Spot("a", 3, "p", "x"), Node("b", 1, "x"), Node("c", 2, "y"), Spot("d", 2, "p", "y")}};
  GangRequest request = Gang(8, 8, 1, 3);
  request.slices = {{4, "leaf"}};
  EXPECT_THAT(NodesOf(inventory, request), ElementsAre("c", "c", "d", "d", "b", "a", "a", "a"));
}

TEST(SpotPlacementTest, AnElasticGangTakesTheLargestSizeWithinItsBounds) {
  const Inventory inventory{{}, {Spot("a", 8, "p"), Node("b", 2)}};
  EXPECT_THAT(NodesOf(inventory, Gang(2, 8, 0.5, 0)), ElementsAre("b", "b", "a", "a"))
      << "a fifth worker would need a third place off spot nodes";
}

TEST(SpotPlacementTest, ARefusalNamesTheBoundAndTheRoom) {
  const Inventory inventory{{"leaf"}, {Spot("a", 8, "p", "x"), Node("b", 1, "x")}};
  const Unplaceable floor = RefusalOf(inventory, Gang(4, 4, 1, 2));
  EXPECT_EQ(floor.reason, UnplaceableReason::kSpotLimit);
  EXPECT_EQ(floor.sentence,
            "needs 2 workers on nodes that are not spot nodes (spot.onDemandFloor); 1 fits");
  EXPECT_EQ(floor.nearest_feasible_size, 1);
  EXPECT_EQ(RefusalOf(inventory, Gang(4, 4, 0.25, 2)).sentence,
            "needs 3 workers on nodes that are not spot nodes (spot.maxFraction); 1 fits");
  GangRequest near = Gang(4, 4, 1, 2);
  near.required_level = "leaf";
  EXPECT_EQ(RefusalOf(inventory, near).sentence,
            "4 workers in one leaf are asked for; needs 2 workers on nodes that are not spot nodes "
            "(spot.onDemandFloor); the best, x, has room for 1");
  GangRequest none = Gang(1, 1, 1, 0);
  none.spot.allow = false;
  EXPECT_EQ(RefusalOf({{}, {Spot("a", 8, "p")}}, none).sentence,
            "needs 1 worker on nodes that are not spot nodes (spot.allow: false); 0 fit");
}

TEST(SpotPlacementTest, ARefusalThatBoundsHaveNoPartInIsTheUsualOne) {
  const Inventory inventory{{}, {Spot("a", 2, "p"), Node("b", 1)}};
  const Unplaceable no = RefusalOf(inventory, Gang(4, 4, 0.75, 0));
  EXPECT_EQ(no.reason, UnplaceableReason::kInsufficient);
  EXPECT_EQ(no.sentence, "room for 3 of at least 4 workers");
}

}  // namespace
}  // namespace muster::control
