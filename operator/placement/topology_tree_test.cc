#include "operator/placement/topology_tree.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/placement/inventory.h"

namespace muster::control {
namespace {

NodeInventory Node(const std::string& name, int64_t gpus, std::vector<std::string> domains) {
  NodeInventory node;
  node.name = name;
  node.free = {gpus, 1000, 100, 10};
  node.domains = std::move(domains);
  return node;
}

Inventory Sample() {
  return {{"spine", "leaf"},
          {Node("d", 8, {"s2", "l1"}), Node("c", 4, {"s1", "l2"}), Node("b", 2, {"s1", "l1"}),
           Node("a", 1, {"s1", "l1"}), Node("e", 16, {"s2"})}};
}

TEST(TopologyTreeTest, DomainsLieInPathOrderWithTheirChildrenTogether) {
  const TopologyTree tree(Sample());
  ASSERT_EQ(tree.depth(), 4);
  std::vector<std::string> paths;
  for (int level = 1; level < tree.depth(); ++level) {
    for (size_t i = 0; i < tree.level(level).size(); ++i) paths.push_back(tree.PathOf(level, i));
  }
  EXPECT_THAT(paths, ::testing::ElementsAre("s1", "s2", "s1/l1", "s1/l2", "s2", "s2/l1", "s1/l1/a",
                                            "s1/l1/b", "s1/l2/c", "s2/e", "s2/l1/d"));
  EXPECT_EQ(tree.level(1)[0].first_child, 0);
  EXPECT_EQ(tree.level(1)[0].end_child, 2);
  EXPECT_EQ(tree.level(1)[1].end_child, 4);
}

TEST(TopologyTreeTest, SumsWhatIsFreeAndKeepsItWhenANodeChanges) {
  TopologyTree tree(Sample());
  EXPECT_EQ(tree.level(0)[0].free.gpus, 31);
  const int b = *tree.FindNode("b");
  tree.Charge(b, {1, 0, 0, 1});
  EXPECT_EQ(tree.node(b).free.gpus, 1);
  EXPECT_EQ(tree.level(2)[0].free.gpus, 2);
  EXPECT_EQ(tree.level(1)[0].free.gpus, 6);
  EXPECT_EQ(tree.level(0)[0].free.gpus, 30);
  EXPECT_EQ(tree.level(0)[0].free.slots, 49);
  tree.SetSchedulable(b, false);
  tree.Charge(b, {-1, 0, 0, -1});
  EXPECT_EQ(tree.level(0)[0].free.gpus, 29);
  tree.SetSchedulable(b, true);
  EXPECT_EQ(tree.level(0)[0].free, (Resources{31, 5000, 500, 50}));
}

TEST(TopologyTreeTest, ANodeNeverHasLessThanNothing) {
  Inventory inventory = Sample();
  inventory.nodes[0].free.gpus = -3;
  inventory.nodes[1].free.memory_bytes = std::numeric_limits<int64_t>::max();
  TopologyTree tree(inventory);
  EXPECT_EQ(tree.node(*tree.FindNode("d")).free.gpus, 0);
  tree.Charge(*tree.FindNode("a"), {5, 0, 0, 0});
  EXPECT_EQ(tree.level(0)[0].free.gpus, 22);
  EXPECT_GT(tree.level(0)[0].free.memory_bytes, 0);
}

TEST(TopologyTreeTest, FindsLevelsAndNodes) {
  const TopologyTree tree(Sample());
  EXPECT_EQ(tree.FindLevel("leaf"), 2);
  EXPECT_EQ(tree.FindLevel("host"), 3);
  EXPECT_EQ(tree.FindLevel("rack"), std::nullopt);
  EXPECT_EQ(tree.FindNode("z"), std::nullopt);
}

TEST(TopologyTreeTest, AGivenLevelOfHostsHidesTheNodes) {
  const TopologyTree tree(Inventory{{"host"}, {Node("vm1", 1, {"h"}), Node("vm2", 1, {"h"})}});
  EXPECT_EQ(tree.FindLevel("host"), 1);
  EXPECT_EQ(tree.SharedLevel(0, 1), 1);
}

TEST(TopologyTreeTest, SharedLevelSkipsPlacesWithoutAName) {
  const TopologyTree tree(Sample());
  const int d = *tree.FindNode("d");
  const int e = *tree.FindNode("e");
  EXPECT_EQ(tree.SharedLevel(*tree.FindNode("a"), *tree.FindNode("b")), 2);
  EXPECT_EQ(tree.SharedLevel(d, e), 1);
  EXPECT_EQ(tree.SharedLevel(*tree.FindNode("a"), e), 0);
  EXPECT_EQ(tree.SharedLevel(e, e), 3);
}

}  // namespace
}  // namespace muster::control
