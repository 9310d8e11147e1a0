#include "operator/placement/placement.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/placement/inventory.h"
#include "operator/placement/ring_model.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NodeInventory Node(const std::string& name, int64_t gpus, std::vector<std::string> domains = {}) {
  NodeInventory node;
  node.name = name;
  node.free = {gpus, 64'000, int64_t{1} << 40, 100};
  node.domains = std::move(domains);
  return node;
}

GangRequest Gang(int min, int max, int64_t gpus = 1) {
  GangRequest request;
  request.per_worker = {gpus, 1000, 1 << 20, 1};
  request.min = min;
  request.max = max;
  return request;
}

Placement Placed(const std::variant<Placement, Unplaceable>& result) {
  if (const auto* no = std::get_if<Unplaceable>(&result)) ADD_FAILURE() << no->sentence;
  return std::holds_alternative<Placement>(result) ? std::get<Placement>(result) : Placement{};
}

TEST(PlaceTest, TakesTheTightestNodeThatHoldsAll) {
  const Inventory inventory{{}, {Node("a", 8), Node("b", 4), Node("c", 2)}};
  EXPECT_THAT(Placed(Place(inventory, Gang(3, 3))).nodes, ElementsAre("b", "b", "b"));
}

TEST(PlaceTest, TakesTheBestSizeBetweenMinAndMax) {
  const Inventory inventory{{}, {Node("a", 2), Node("b", 1)}};
  EXPECT_THAT(Placed(Place(inventory, Gang(1, 8))).nodes, ElementsAre("a", "a", "b"));
}

TEST(PlaceTest, AllOrNothing) {
  const Inventory inventory{{}, {Node("a", 2), Node("b", 1)}};
  const auto result = Place(inventory, Gang(4, 8));
  ASSERT_TRUE(std::holds_alternative<Unplaceable>(result));
  EXPECT_EQ(std::get<Unplaceable>(result).reason, UnplaceableReason::kInsufficient);
  EXPECT_EQ(std::get<Unplaceable>(result).sentence, "room for 3 of at least 4 workers");
  EXPECT_EQ(std::get<Unplaceable>(result).nearest_feasible_size, 3);
}

TEST(PlaceTest, SaysWhenNoNodeHoldsOneWorker) {
  const auto result = Place({{}, {Node("a", 2)}}, Gang(1, 1, 4));
  ASSERT_TRUE(std::holds_alternative<Unplaceable>(result));
  EXPECT_EQ(std::get<Unplaceable>(result).reason, UnplaceableReason::kNoNodeBigEnough);
}

TEST(PlaceTest, NeverUsesAnUnschedulableNode) {
  Inventory inventory{{}, {Node("a", 8), Node("b", 1)}};
  inventory.nodes[0].schedulable = false;
  EXPECT_THAT(Placed(Place(inventory, Gang(1, 4))).nodes, ElementsAre("b"));
}

TEST(PlaceTest, StaysWithinTheRequiredLevel) {
  const Inventory inventory{{"leaf"},
                            {Node("a", 2, {"l1"}), Node("b", 2, {"l2"}), Node("c", 2, {"l2"})}};
  GangRequest request = Gang(3, 3);
  request.required_level = "leaf";
  const Placement placement = Placed(Place(inventory, request));
  EXPECT_THAT(placement.nodes, ElementsAre("b", "b", "c"));
  EXPECT_EQ(placement.domain, "l2");
  request.min = request.max = 5;
  const auto result = Place(inventory, request);
  ASSERT_TRUE(std::holds_alternative<Unplaceable>(result));
  EXPECT_EQ(std::get<Unplaceable>(result).reason, UnplaceableReason::kTopology);
  EXPECT_EQ(std::get<Unplaceable>(result).nearest_feasible_size, 4);
}

TEST(PlaceTest, APreferenceNeverCostsWorkers) {
  const Inventory inventory{{"leaf"}, {Node("a", 3, {"l1"}), Node("b", 3, {"l2"})}};
  GangRequest request = Gang(1, 4);
  request.preferred_level = "leaf";
  EXPECT_EQ(Placed(Place(inventory, request)).nodes.size(), 4u);
  request.max = 3;
  EXPECT_THAT(Placed(Place(inventory, request)).nodes, ElementsAre("a", "a", "a"));
}

TEST(PlaceTest, KeepsSlicesWhole) {
  const Inventory inventory{{"leaf"}, {Node("a", 3, {"l1"}), Node("b", 3, {"l2"})}};
  GangRequest request = Gang(1, 6);
  request.slices = {{2, "leaf"}};
  EXPECT_THAT(Placed(Place(inventory, request)).nodes, ElementsAre("a", "a", "b", "b"));
}

// Two spines of two leaves of four nodes of eight GPUs.
Inventory FatTree() {
  Inventory inventory{{"spine", "leaf"}, {}};
  for (int i = 0; i < 16; ++i) {
    inventory.nodes.push_back(Node(absl::StrCat("n", i / 10, i % 10), 8,
                                   {absl::StrCat("s", i / 8), absl::StrCat("l", i / 4)}));
    inventory.nodes.back().allocatable = inventory.nodes.back().free;
  }
  return inventory;
}

TEST(PlaceTest, NestsSlices) {
  Inventory inventory = FatTree();
  inventory.nodes[1].free.gpus = 3;
  GangRequest request = Gang(24, 24);
  request.slices = {{8, "leaf"}, {4, "host"}};
  const Placement placement = Placed(Place(inventory, request));
  // The leaf with a broken node has room for 24, for it holds six whole slices of four.
  EXPECT_EQ(placement.domain, "s0/l0");
  EXPECT_EQ(std::count(placement.nodes.begin(), placement.nodes.end(), "n01"), 0);
}

TEST(PlaceTest, BreaksTheLeafThatIsBrokenAlready) {
  Inventory inventory = FatTree();
  inventory.nodes[9].free.gpus = 0;
  EXPECT_EQ(Placed(Place(inventory, Gang(2, 2, 8))).domain, "s1/l2");
}

TEST(PlaceTest, NumbersRanksInTheOrderOfTheTopology) {
  Inventory inventory = FatTree();
  std::swap(inventory.nodes[1].domains, inventory.nodes[14].domains);
  const Placement placement = Placed(Place(inventory, Gang(16, 16, 8)));
  EXPECT_THAT(placement.nodes, ElementsAre("n00", "n02", "n03", "n14", "n04", "n05", "n06", "n07",
                                           "n08", "n09", "n10", "n11", "n01", "n12", "n13", "n15"));
  EXPECT_EQ(placement.level, "");
}

TEST(PlaceTest, APreferenceStopsWhereTheGangFits) {
  Inventory inventory = FatTree();
  GangRequest request = Gang(2, 2, 8);
  request.preferred_level = "spine";
  EXPECT_EQ(Placed(Place(inventory, request)).level, "leaf");
  for (int i = 0; i < 16; ++i) inventory.nodes[i].free.gpus = i % 4 == 0 ? 8 : 0;
  request.preferred_level = "leaf";
  EXPECT_EQ(Placed(Place(inventory, request)).level, "spine");
}

NodeInventory Of(NodeInventory node, int64_t all_gpus) {
  node.allocatable = node.free;
  node.allocatable.gpus = all_gpus;
  return node;
}

std::map<std::string, int> Loads(const Placement& placement) {
  std::map<std::string, int> loads;
  for (const std::string& node : placement.nodes) ++loads[node];
  return loads;
}

TEST(PlaceTest, LeftOverGpusBreakTiesAmongEquallyClosePlaces) {
  const Inventory inventory{
      {"leaf"},
      {Of(Node("a", 8, {"l1"}), 8), Of(Node("b", 5, {"l1"}), 8), Of(Node("c", 8, {"l2"}), 8),
       Of(Node("d", 6, {"l2"}), 8), Of(Node("e", 5, {"l3"}), 8), Of(Node("f", 5, {"l3"}), 8)}};
  const Inventory two{{}, {inventory.nodes[0], inventory.nodes[1]}};
  EXPECT_THAT(Placed(Place(two, Gang(1, 1, 5))).nodes, ElementsAre("b"));
  // No leaf has less left over than the one with two exact holes.
  EXPECT_THAT(Placed(Place(inventory, Gang(2, 2, 5))).nodes, ElementsAre("e", "f"));
  // Three of them break the leaf's hole of 6 before its empty node.
  EXPECT_THAT(Placed(Place(Inventory{{}, inventory.nodes}, Gang(3, 3, 5))).nodes,
              ElementsAre("b", "e", "f"));
  EXPECT_THAT(Placed(Place(Inventory{{}, inventory.nodes}, Gang(4, 4, 5))).nodes,
              ElementsAre("b", "d", "e", "f"));
}

TEST(PlaceTest, WorkersWithoutGpusPreferNodesWithoutGpus) {
  Inventory inventory{{"leaf"},
                      {Of(Node("c0", 0, {"l1"}), 0), Of(Node("c1", 0, {"l1"}), 0),
                       Of(Node("g0", 8, {"l1"}), 8), Of(Node("g1", 0, {"l1"}), 8)}};
  inventory.nodes[0].free.cpu_millis = inventory.nodes[1].free.cpu_millis = 6000;
  inventory.nodes[2].free.cpu_millis = inventory.nodes[3].free.cpu_millis = 4000;
  // g0 and g1 are tighter, and g1 has no GPU left: both are GPU nodes all the same.
  EXPECT_THAT(Placed(Place(inventory, Gang(1, 1, 0))).nodes, ElementsAre("c0"));
  EXPECT_EQ(Loads(Placed(Place(inventory, Gang(10, 10, 0)))),
            (std::map<std::string, int>{{"c0", 5}, {"c1", 5}}));
  // The workers that exceed their room go where fewest GPUs are free.
  EXPECT_EQ(Loads(Placed(Place(inventory, Gang(14, 14, 0)))),
            (std::map<std::string, int>{{"c0", 6}, {"c1", 6}, {"g1", 2}}));
  // Closeness comes first: a host with GPUs that holds all is closer than two without.
  inventory.nodes[2].free.cpu_millis = 10'000;
  EXPECT_EQ(Loads(Placed(Place(inventory, Gang(10, 10, 0)))),
            (std::map<std::string, int>{{"g0", 10}}));
}

TEST(PlaceTest, WorkersWithoutGpusPreferTheLeafThatHasFewestOfThemOnGpuNodes) {
  Inventory inventory{{"leaf"},
                      {Of(Node("g0", 8, {"l1"}), 8), Of(Node("g1", 8, {"l1"}), 8),
                       Of(Node("c0", 0, {"l2"}), 0), Of(Node("g2", 8, {"l2"}), 8)}};
  for (NodeInventory& node : inventory.nodes) node.free.cpu_millis = 8000;
  inventory.nodes[3].free.cpu_millis = 20'000;
  GangRequest request = Gang(16, 16, 0);
  request.preferred_level = "leaf";
  EXPECT_EQ(Loads(Placed(Place(inventory, request))),
            (std::map<std::string, int>{{"c0", 8}, {"g2", 8}}));
}

TEST(PlaceTest, BalancesWorkersOverAsFewNodes) {
  const auto loads = [](std::vector<NodeInventory> nodes, int workers) {
    return Loads(Placed(Place(Inventory{{}, std::move(nodes)}, Gang(workers, workers))));
  };
  using Map = std::map<std::string, int>;
  EXPECT_EQ(loads({Node("a", 7), Node("b", 7)}, 8), (Map{{"a", 4}, {"b", 4}}));
  EXPECT_EQ(loads({Node("a", 7), Node("b", 7), Node("c", 1)}, 8), (Map{{"a", 4}, {"b", 4}}));
  EXPECT_EQ(loads({Node("a", 7), Node("b", 1), Node("c", 4), Node("d", 4)}, 8),
            (Map{{"c", 4}, {"d", 4}}));
  // Fewest nodes first.
  EXPECT_EQ(loads({Node("a", 8), Node("b", 4), Node("c", 4)}, 8), (Map{{"a", 8}}));
  EXPECT_EQ(loads({Node("a", 7), Node("b", 3), Node("c", 3), Node("d", 3)}, 9),
            (Map{{"a", 6}, {"b", 3}}));
}

TEST(PlaceTest, BalancesOverTheNodesOfSeveralLeaves) {
  const Inventory inventory{{"leaf"}, {Node("a", 7, {"l1"}), Node("b", 7, {"l2"})}};
  EXPECT_EQ(Loads(Placed(Place(inventory, Gang(8, 8)))),
            (std::map<std::string, int>{{"a", 4}, {"b", 4}}));
  // Slices of two on a host stay whole.
  GangRequest request = Gang(10, 10);
  request.slices = {{2, "host"}};
  EXPECT_EQ(Loads(Placed(Place(inventory, request))),
            (std::map<std::string, int>{{"a", 6}, {"b", 4}}));
  // Slices of a leaf stay whole, too.
  const Inventory pairs{{"leaf"},
                        {Node("a", 3, {"l1"}), Node("b", 3, {"l1"}), Node("c", 4, {"l2"})}};
  request = Gang(8, 8);
  request.slices = {{4, "leaf"}};
  EXPECT_EQ(Loads(Placed(Place(pairs, request))),
            (std::map<std::string, int>{{"a", 2}, {"b", 2}, {"c", 4}}));
}

NodeInventory GpuNode(const std::string& name, const std::string& product, int64_t gpus,
                      std::vector<std::string> domains) {
  NodeInventory node = Of(Node(name, gpus, std::move(domains)), 8);
  node.gpu_product = product;
  return node;
}

TEST(PlaceTest, AGangPrefersOneGpuProduct) {
  // The first rack is tighter, and has three nodes of one product and two of another.
  Inventory inventory{{"spine", "rack"}, {}};
  for (int i = 0; i < 5; ++i) {
    inventory.nodes.push_back(
        GpuNode(absl::StrCat("a", i), i < 3 ? "A100" : "H100", 8, {"s1", "r1"}));
    inventory.nodes.push_back(GpuNode(absl::StrCat("b", i), "H100", 8, {"s1", "r2"}));
  }
  inventory.nodes.push_back(GpuNode("b5", "A100", 8, {"s1", "r2"}));
  EXPECT_THAT(Placed(Place(inventory, Gang(5, 5, 8))).nodes,
              ElementsAre("b0", "b1", "b2", "b3", "b4"));
  // The tightest domain of one product, whichever that is.
  EXPECT_THAT(Placed(Place(inventory, Gang(3, 3, 8))).nodes, ElementsAre("a0", "a1", "a2"));
  // Closeness comes first: the six share a rack, not a product.
  const Placement six = Placed(Place(inventory, Gang(6, 6, 8)));
  EXPECT_EQ(six.domain, "s1/r2");
  // One product is preferred further out, too: the spine's seven H100 nodes, not both kinds.
  const Placement seven = Placed(Place(inventory, Gang(7, 7, 8)));
  EXPECT_THAT(seven.nodes, ElementsAre("a3", "a4", "b0", "b1", "b2", "b3", "b4"));
  // The preference costs no worker.
  EXPECT_EQ(Placed(Place(inventory, Gang(1, 11, 8))).nodes.size(), 11u);
}

TEST(PlaceTest, OneGpuProductCostsNoRequiredOrPreferredLevel) {
  const Inventory inventory{
      {"spine", "rack"},
      {GpuNode("a", "A100", 8, {"s1", "r1"}), GpuNode("b", "H100", 8, {"s1", "r1"}),
       GpuNode("c", "H100", 8, {"s1", "r2"})}};
  GangRequest request = Gang(2, 2, 8);
  request.required_level = "rack";
  EXPECT_THAT(Placed(Place(inventory, request)).nodes, ElementsAre("a", "b"));
  request.required_level.clear();
  request.preferred_level = "rack";
  EXPECT_THAT(Placed(Place(inventory, request)).nodes, ElementsAre("a", "b"));
  // A gang that prefers the spine gets one product in it.
  request.preferred_level = "spine";
  EXPECT_THAT(Placed(Place(inventory, request)).nodes, ElementsAre("b", "c"));
}

TEST(PlaceTest, NodesThatDoNotSayTheirGpuProductAreAlike) {
  const Inventory inventory{
      {"rack"},
      {GpuNode("a", "", 8, {"r1"}), GpuNode("b", "H100", 8, {"r1"}), GpuNode("c", "", 8, {"r2"}),
       GpuNode("d", "", 8, {"r2"}), GpuNode("e", "H100", 8, {"r2"})}};
  EXPECT_THAT(Placed(Place(inventory, Gang(2, 2, 8))).nodes, ElementsAre("c", "d"));
}

TEST(PlaceTest, ScoresAgainstTheEmptyCluster) {
  Inventory inventory = FatTree();
  EXPECT_DOUBLE_EQ(Placed(Place(inventory, Gang(8, 8))).score, 1.0);
  const Placement whole = Placed(Place(inventory, Gang(4, 4, 8)));
  EXPECT_DOUBLE_EQ(whole.score, 1.0);
  // 2 * 3 steps of 0.25 GB at 50 GB/s and 5 us.
  EXPECT_NEAR(whole.ring_seconds, 6 * (0.25e9 / 50e9 + 5e-6), 1e-9);
  for (int i = 0; i < 16; i += 2) inventory.nodes[i].free.gpus = 4;
  const Placement spread = Placed(Place(inventory, Gang(8, 8)));
  EXPECT_EQ(spread.level, "host");
  for (int i = 1; i < 16; i += 2) inventory.nodes[i].free.gpus = 4;
  const Placement broken = Placed(Place(inventory, Gang(8, 8)));
  EXPECT_EQ(broken.level, "leaf");
  EXPECT_NEAR(broken.score, (0.125e9 / 450e9 + 2e-6) / (0.125e9 / 50e9 + 5e-6), 1e-9);
}

TEST(PlaceTest, TheScoreHeedsGivenLinks) {
  Inventory inventory = FatTree();
  for (NodeInventory& node : inventory.nodes) node.free.gpus = 4;
  const auto placed =
      Placed(Place(TopologyTree(inventory), Gang(8, 8), {{"leaf", {450, 2}}, {"host", {450, 2}}}));
  EXPECT_EQ(placed.level, "leaf");
  EXPECT_DOUBLE_EQ(placed.score, 1.0);
}

TEST(PlaceTest, EveryUpperTierHasTheLinkOfTheThird) {
  const TopologyTree tree(Inventory{{"zone", "tier-5", "tier-4", "core", "example.com/row"}, {}});
  const LinkTable links = LinksOf(tree, {});
  EXPECT_EQ(links[2].latency_us, links[3].latency_us);
  EXPECT_LT(links[1].gigabytes_per_second, links[2].gigabytes_per_second);
  EXPECT_EQ(links[5].gigabytes_per_second, 50);
}

TEST(PlaceTest, NodesOfALeafHaveTheLinkOfTheNvlinkDomainThatItLiesIn) {
  const Inventory inventory{{"spine", "nvlink", "leaf"},
                            {Node("a", 8, {"s", "nvl1", "l1"}), Node("b", 8, {"s", "nvl1", "l1"}),
                             Node("c", 8, {"s", "nvl1", "l2"}), Node("d", 8, {"s", "", "l3"}),
                             Node("e", 8, {"s", "", "l3"})}};
  const TopologyTree tree(inventory);
  const auto seconds = [&](std::vector<std::string> nodes) {
    return ScorePlacement(tree, Gang(1, 8, 8), nodes).ring_seconds;
  };
  EXPECT_EQ(ScorePlacement(tree, Gang(1, 8, 8), {"a", "b"}).level, "leaf");
  EXPECT_NEAR(seconds({"a", "b"}), 2 * (0.5e9 / 450e9 + 2e-6), 1e-9);
  EXPECT_NEAR(seconds({"a", "c"}), 2 * (0.5e9 / 450e9 + 2e-6), 1e-9);
  // A place in the tree without a name is no NVLink domain.
  EXPECT_NEAR(seconds({"d", "e"}), 2 * (0.5e9 / 50e9 + 5e-6), 1e-9);
  EXPECT_NEAR(seconds({"a", "d"}), 2 * (0.5e9 / 50e9 + 7e-6), 1e-9);
}

TEST(PlaceTest, ARefusalNamesTheBestDomainAndWhatWouldFit) {
  Inventory inventory = FatTree();
  for (int i = 0; i < 16; ++i) inventory.nodes[i].free.gpus = i < 4 ? 8 : 4;
  GangRequest request = Gang(40, 64);
  request.required_level = "leaf";
  request.slices = {{8, "host"}};
  const auto result = Place(inventory, request);
  ASSERT_TRUE(std::holds_alternative<Unplaceable>(result));
  EXPECT_EQ(std::get<Unplaceable>(result).sentence,
            "40 workers in one leaf, 8 at a time in one host are asked for; the best, s0/l0, has "
            "room for 32, and for 64 without that condition");
}

TEST(PlaceTest, ANodeThatIsNowhereCountsForNoDomain) {
  Inventory inventory{{"spine", "leaf"}, {Node("a", 8, {"s"}), Node("b", 8, {"s"})}};
  GangRequest request = Gang(4, 4);
  request.required_level = "leaf";
  EXPECT_TRUE(std::holds_alternative<Unplaceable>(Place(inventory, request)));
  request.required_level = "spine";
  EXPECT_EQ(Placed(Place(inventory, request)).level, "host");
  request = Gang(12, 12);
  EXPECT_EQ(Placed(Place(inventory, request)).domain, "s");
}

TEST(PlaceTest, RefusesWhatCannotBeMeant) {
  const Inventory inventory{{"leaf"}, {Node("a", 3, {"l1"})}};
  GangRequest request = Gang(2, 1);
  auto refused = [&] { return std::get<Unplaceable>(Place(inventory, request)); };
  EXPECT_EQ(refused().reason, UnplaceableReason::kInvalidRequest);
  request = Gang(1, 1);
  request.required_level = "rack";
  EXPECT_THAT(refused().sentence, HasSubstr("there is no topology level \"rack\"; known: leaf"));
  request = Gang(1, 1, -1);
  EXPECT_EQ(refused().sentence, "a worker asks for a negative amount");
  request = Gang(1, 4);
  request.slices = {{8, "leaf"}};
  EXPECT_EQ(refused().sentence, "no size up to 4 is made of slices of 8");
  request.slices = {{4, "leaf"}, {3, "host"}};
  EXPECT_EQ(refused().sentence, "slices of 4 are not made of whole slices of 3");
  request.slices = {{4, "host"}, {2, "leaf"}};
  EXPECT_EQ(refused().sentence, "a slice within a host cannot spread over a leaf");
}

}  // namespace
}  // namespace muster::control
