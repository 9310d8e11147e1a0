#include "operator/placement/placement.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
  request.slice_size = 2;
  request.slice_level = "leaf";
  EXPECT_THAT(Placed(Place(inventory, request)).nodes, ElementsAre("a", "a", "b", "b"));
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
}

// ---- properties on random small clusters

struct Case {
  Inventory inventory;
  GangRequest request;
};

Case RandomCase(std::mt19937& random) {
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Case c;
  c.inventory.levels = {"leaf"};
  const int nodes = pick(0, 4);
  for (int i = 0; i < nodes; ++i) {
    NodeInventory node = Node(absl::StrCat("n", i), pick(0, 3), {absl::StrCat("l", pick(0, 1))});
    node.free.cpu_millis = pick(0, 4000);
    node.schedulable = pick(0, 5) > 0;
    if (pick(0, 9) == 0) node.domains.clear();
    c.inventory.nodes.push_back(node);
  }
  c.request = Gang(1, 1, pick(0, 2));
  c.request.min = pick(1, 4);
  c.request.max = pick(c.request.min, 5);
  if (pick(0, 2) == 0) c.request.required_level = "leaf";
  if (pick(0, 2) == 0) c.request.preferred_level = "leaf";
  if (pick(0, 2) == 0) {
    c.request.slice_size = pick(1, std::min(2, c.request.max));
    c.request.slice_level = "leaf";
  }
  return c;
}

bool IsLegal(const Case& c, const std::vector<int>& nodes) {
  std::map<int, int> per_node;
  std::map<std::string, int> per_leaf;
  std::set<std::vector<std::string>> leaves;
  for (int n : nodes) {
    ++per_node[n];
    leaves.insert(c.inventory.nodes[n].domains);
  }
  const bool needs_leaf = !c.request.required_level.empty() || !c.request.slice_level.empty();
  for (const auto& [n, count] : per_node) {
    const NodeInventory& node = c.inventory.nodes[n];
    if (!node.schedulable || node.free.gpus < count * c.request.per_worker.gpus) return false;
    if (node.free.cpu_millis < count * c.request.per_worker.cpu_millis) return false;
    if (needs_leaf && node.domains.empty()) return false;
    if (!node.domains.empty()) per_leaf[node.domains[0]] += count;
  }
  if (!c.request.required_level.empty() && leaves.size() > 1) return false;
  if (!c.request.slice_level.empty()) {
    for (const auto& [leaf, count] : per_leaf) {
      if (count % c.request.slice_size != 0) return false;
    }
  }
  return static_cast<int>(nodes.size()) % c.request.slice_size == 0;
}

// The largest legal size up to max, by trying every multiset of nodes.
int BruteForce(const Case& c) {
  int best = 0;
  std::vector<int> nodes;
  std::function<void(int)> extend = [&](int from) {
    const int size = static_cast<int>(nodes.size());
    if (size > best && IsLegal(c, nodes)) best = size;
    if (size == c.request.max) return;
    for (int n = from; n < static_cast<int>(c.inventory.nodes.size()); ++n) {
      nodes.push_back(n);
      extend(n);
      nodes.pop_back();
    }
  };
  extend(0);
  return best;
}

int SizeOf(const std::variant<Placement, Unplaceable>& result) {
  const auto* placement = std::get_if<Placement>(&result);
  return placement == nullptr ? std::get<Unplaceable>(result).nearest_feasible_size
                              : static_cast<int>(placement->nodes.size());
}

TEST(PlacePropertyTest, EqualsBruteForceAndNeverOverAssigns) {
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    const Case c = RandomCase(random);
    const auto result = Place(c.inventory, c.request);
    const int best = BruteForce(c);
    ASSERT_EQ(SizeOf(result), best) << "case " << round;
    ASSERT_EQ(std::holds_alternative<Placement>(result), best >= c.request.min) << round;
    const auto* placement = std::get_if<Placement>(&result);
    if (placement == nullptr) continue;
    std::vector<int> nodes;
    for (const std::string& name : placement->nodes) nodes.push_back(name[1] - '0');
    ASSERT_TRUE(IsLegal(c, nodes)) << "case " << round;
  }
}

TEST(PlacePropertyTest, TheOrderOfTheInventoryDoesNotMatter) {
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    Case c = RandomCase(random);
    const auto before = Place(c.inventory, c.request);
    std::shuffle(c.inventory.nodes.begin(), c.inventory.nodes.end(), random);
    const auto after = Place(c.inventory, c.request);
    ASSERT_EQ(before.index(), after.index());
    if (before.index() == 0) {
      ASSERT_EQ(Placed(before).nodes, Placed(after).nodes) << round;
    }
  }
}

TEST(PlacePropertyTest, MoreRoomNeverMeansFewerWorkers) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    Case c = RandomCase(random);
    const int before = SizeOf(Place(c.inventory, c.request));
    if (round % 2 == 0 && !c.inventory.nodes.empty()) {
      ++c.inventory.nodes[round % c.inventory.nodes.size()].free.gpus;
    } else {
      c.inventory.nodes.push_back(Node("n9", 2, {"l0"}));
    }
    ASSERT_GE(SizeOf(Place(c.inventory, c.request)), before) << round;
  }
}

}  // namespace
}  // namespace muster::control
