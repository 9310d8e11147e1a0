#include "operator/placement/complete_gang.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "operator/placement/inventory.h"

namespace muster::control {
namespace {

constexpr Resources kGpu{1, 0, 0, 0};

// Two racks of `nodes` nodes with `gpus` free on each: r0n0, r0n1, ..., r1n0, ...
Inventory Racks(int nodes, int gpus, int racks = 2) {
  Inventory inventory;
  inventory.levels = {"leaf"};
  for (int rack = 0; rack < racks; ++rack) {
    for (int node = 0; node < nodes; ++node) {
      inventory.nodes.push_back({absl::StrCat("r", rack, "n", node),
                                 {gpus, 0, 0, 0},
                                 true,
                                 {absl::StrCat("r", rack)},
                                 {gpus, 0, 0, 0},
                                 ""});
    }
  }
  return inventory;
}

PartialGang Gang(int min, std::map<int, std::string> placed, std::vector<int> missing) {
  PartialGang gang;
  gang.request.per_worker = kGpu;
  gang.request.min = min;
  gang.request.max = static_cast<int>(placed.size() + missing.size());
  gang.placed = std::move(placed);
  gang.missing = std::move(missing);
  return gang;
}

std::map<int, std::string> Nodes(TopologyTree& tree, const PartialGang& gang) {
  auto answer = CompleteGang(tree, gang);
  const auto* done = std::get_if<Completion>(&answer);
  if (done == nullptr) {
    ADD_FAILURE() << std::get<Unplaceable>(answer).sentence;
    return {};
  }
  return done->nodes;
}

TEST(CompleteGang, WithoutAnyWorkerPlacedIsPlace) {
  TopologyTree tree(Racks(2, 1));
  PartialGang gang = Gang(2, {}, {0, 1});
  gang.request.required_level = "leaf";
  EXPECT_EQ(Nodes(tree, gang), (std::map<int, std::string>{{0, "r0n0"}, {1, "r0n1"}}));
}

TEST(CompleteGang, ReplacesALostWorkerInTheRackOfTheOthers) {
  Inventory racks = Racks(3, 1);
  racks.nodes[3].free = {};  // r1n0 and r1n1 hold the others
  racks.nodes[4].free = {};
  TopologyTree tree(racks);
  PartialGang gang = Gang(3, {{0, "r1n0"}, {2, "r1n1"}}, {1});
  gang.request.required_level = "leaf";
  auto answer = CompleteGang(tree, gang);
  const Completion& done = std::get<Completion>(answer);
  EXPECT_EQ(done.nodes, (std::map<int, std::string>{{1, "r1n2"}}));
  EXPECT_EQ(done.gang.level, "leaf");
  EXPECT_EQ(done.gang.domain, "r1");
  EXPECT_EQ(done.gang.nodes, (std::vector<std::string>{"r1n0", "r1n2", "r1n1"}));
}

TEST(CompleteGang, ALostWorkerIsReplacedOnTheGpuProductOfTheOthers) {
  Inventory racks = Racks(4, 1);
  for (int i : {0, 3, 4, 5}) racks.nodes[i].gpu_product = "H100";
  for (int i : {1, 2, 6, 7}) racks.nodes[i].gpu_product = "A100";
  racks.nodes[0].free = {};  // r0n0 and r0n1 hold the others
  TopologyTree tree(racks);
  EXPECT_EQ(Nodes(tree, Gang(2, {{0, "r0n0"}}, {1})), (std::map<int, std::string>{{1, "r0n3"}}));
  // Closeness comes first: the rack's last node has another product.
  EXPECT_EQ(Nodes(tree, Gang(3, {{0, "r0n0"}}, {1, 2})),
            (std::map<int, std::string>{{1, "r0n1"}, {2, "r0n2"}}));
  // A gang that has two products already has no more to lose.
  racks.nodes[1].free = {};
  TopologyTree other(racks);
  EXPECT_EQ(Nodes(other, Gang(3, {{0, "r0n0"}, {1, "r0n1"}}, {2})),
            (std::map<int, std::string>{{2, "r0n2"}}));
}

TEST(CompleteGang, WaitsForTheRequiredRackThoughAnotherIsEmpty) {
  Inventory racks = Racks(2, 1);
  racks.nodes[2].free = racks.nodes[3].free = {};
  TopologyTree tree(racks);
  PartialGang gang = Gang(2, {{0, "r1n0"}}, {1});
  gang.request.required_level = "leaf";
  const auto answer = CompleteGang(tree, gang);
  const Unplaceable& no = std::get<Unplaceable>(answer);
  EXPECT_EQ(no.reason, UnplaceableReason::kNoNodeBigEnough);
  EXPECT_EQ(no.sentence,
            "1 of 2 workers have no node in r1, where the others are: a worker asks for 1 GPU; the "
            "most that is free on one node is no GPU (2 of 4 nodes may be used)");
  EXPECT_EQ(no.nearest_feasible_size, 1);
  // Nodes that were closed for the search are open again.
  EXPECT_EQ(Nodes(tree, Gang(2, {}, {0, 1})),
            (std::map<int, std::string>{{0, "r0n0"}, {1, "r0n1"}}));
}

TEST(CompleteGang, PrefersTheNodesThenTheRackOfTheOthersAndTakesWhatThereIs) {
  Inventory racks = Racks(2, 2);
  TopologyTree tree(racks);
  EXPECT_EQ(Nodes(tree, Gang(2, {{0, "r1n1"}}, {1})), (std::map<int, std::string>{{1, "r1n1"}}));
  tree.Charge(*tree.FindNode("r1n1"), {2, 0, 0, 0});
  EXPECT_EQ(Nodes(tree, Gang(2, {{0, "r1n1"}}, {1})), (std::map<int, std::string>{{1, "r1n0"}}));
  tree.Charge(*tree.FindNode("r1n0"), {2, 0, 0, 0});
  EXPECT_EQ(Nodes(tree, Gang(2, {{0, "r1n1"}}, {1})), (std::map<int, std::string>{{1, "r0n0"}}));
}

TEST(CompleteGang, FinishesASliceWhereItWasBegunAndPlacesWholeOnesAnywhere) {
  Inventory racks = Racks(4, 2);
  TopologyTree tree(racks);
  tree.Charge(*tree.FindNode("r1n3"), {1, 0, 0, 0});  // worker 0
  // Workers 0 and 1 share a host, 2 and 3 another.
  PartialGang gang = Gang(4, {{0, "r1n3"}}, {1, 2, 3});
  gang.request.slices = {{2, kHostLevel}};
  const auto nodes = Nodes(tree, gang);
  EXPECT_EQ(nodes.at(1), "r1n3");
  EXPECT_EQ(nodes.at(2), nodes.at(3));
  EXPECT_EQ(nodes.at(2).substr(0, 2), "r1");
}

// A slice may be broader than what is required of all.
TEST(CompleteGang, ASliceBroaderThanTheRequiredLevelTakesNobodyOutOfIt) {
  Inventory racks;
  racks.levels = {"spine", "leaf"};
  for (int leaf = 0; leaf < 2; ++leaf) {
    for (int node = 0; node < 2; ++node) {
      racks.nodes.push_back({absl::StrCat("l", leaf, "n", node),
                             {leaf, 0, 0, 0},  // nothing is free in the first leaf
                             true,
                             {"s0", absl::StrCat("l", leaf)},
                             {1, 0, 0, 0}});
    }
  }
  TopologyTree tree(racks);
  PartialGang gang = Gang(2, {{0, "l0n0"}}, {1});
  gang.request.required_level = "leaf";
  gang.request.slices = {{2, "spine"}};
  EXPECT_TRUE(std::holds_alternative<Unplaceable>(CompleteGang(tree, gang)));
  tree.Charge(*tree.FindNode("l0n1"), {-1, 0, 0, 0});
  EXPECT_EQ(Nodes(tree, gang), (std::map<int, std::string>{{1, "l0n1"}}));
}

TEST(CompleteGang, ASliceThatCannotBeFinishedDoesNotKeepAnElasticGangFromAnother) {
  TopologyTree tree(Racks(2, 2, 1));
  tree.Charge(*tree.FindNode("r0n0"), {2, 0, 0, 0});
  tree.Charge(*tree.FindNode("r0n1"), {1, 0, 0, 0});
  PartialGang gang = Gang(2, {{0, "r0n0"}, {2, "r0n1"}}, {1, 3});
  gang.request.slices = {{2, kHostLevel}};
  EXPECT_EQ(Nodes(tree, gang), (std::map<int, std::string>{{3, "r0n1"}}));
  gang.request.min = 4;
  EXPECT_TRUE(std::holds_alternative<Unplaceable>(CompleteGang(tree, gang)));
}

// A worker whose command has ended needs no node, but without it the rest is no whole slice.
TEST(CompleteGang, TheRestOfASliceHasAPlaceThoughAMemberHasEnded) {
  TopologyTree tree(Racks(2, 1));
  PartialGang gang = Gang(3, {}, {0, 2, 3});
  gang.ended = {1};
  gang.request.slices = {{2, "leaf"}};
  EXPECT_EQ(RequestInWholeSlices(gang).min, 4);
  EXPECT_EQ(RequestInWholeSlices(gang).max, 4);
  const auto nodes = Nodes(tree, gang);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes.at(2).substr(0, 2), nodes.at(3).substr(0, 2)) << "one slice";
  EXPECT_NE(nodes.at(0).substr(0, 2), nodes.at(2).substr(0, 2)) << "another slice";
}

TEST(CompleteGang, AWorkerWhoseSliceHasOtherwiseEndedIsReplaced) {
  TopologyTree tree(Racks(2, 2));
  PartialGang gang = Gang(3, {{2, "r1n0"}, {3, "r1n1"}}, {0});
  gang.ended = {1};
  gang.request.slices = {{2, "leaf"}, {2, kHostLevel}};
  EXPECT_EQ(Nodes(tree, gang).size(), 1u);
  // Slices that have ended as a whole need no room.
  gang = Gang(2, {}, {2, 3});
  gang.ended = {0, 1};
  gang.request.slices = {{2, "leaf"}};
  EXPECT_EQ(RequestInWholeSlices(gang).max, 2);
  EXPECT_EQ(Nodes(tree, gang).size(), 2u);
}

TEST(CompleteGang, AnElasticGangCountsThoseThatRunAndNotThePlacesOfTheEnded) {
  TopologyTree tree(Racks(1, 2, 1));
  PartialGang gang = Gang(2, {}, {0, 2});
  gang.request.min = 2;
  gang.ended = {1, 3};
  gang.request.slices = {{2, kHostLevel}};
  EXPECT_TRUE(std::holds_alternative<Unplaceable>(CompleteGang(tree, gang)))
      << "room for one slice";
  gang.request.min = 1;
  EXPECT_EQ(Nodes(tree, gang), (std::map<int, std::string>{{0, "r0n0"}}));
}

TEST(CompleteGang, AnElasticGangGrowsByWhatFits) {
  TopologyTree tree(Racks(2, 1, 1));
  EXPECT_EQ(Nodes(tree, Gang(1, {{0, "elsewhere"}}, {1, 2, 3})).size(), 2u);
}

TEST(CompleteGang, AnUnknownLevelIsReportedEvenForARunningGang) {
  TopologyTree tree(Racks(2, 1));
  PartialGang gang = Gang(2, {{0, "r0n0"}}, {1});
  gang.request.required_level = "rack";
  const auto answer = CompleteGang(tree, gang);
  EXPECT_EQ(std::get<Unplaceable>(answer).sentence,
            "there is no topology level \"rack\"; known: leaf, host");
}

// Prints the free amounts and schedulability of every domain and node.
std::string StateOf(const TopologyTree& tree) {
  std::string state;
  for (int level = 0; level < tree.depth(); ++level) {
    for (const auto& domain : tree.level(level)) {
      absl::StrAppend(&state, domain.name, ":", domain.free.gpus, " ");
    }
  }
  for (size_t i = 0; i < tree.level(tree.node_level()).size(); ++i) {
    absl::StrAppend(&state, tree.node(static_cast<int>(i)).schedulable ? "+" : "-");
  }
  return state;
}

TEST(CompleteGang, KeepsRequirementsAndSlicesAndLeavesTheTreeAsItWas) {
  std::mt19937 random(7);
  int placed_gangs = 0;
  for (int round = 0; round < 3000; ++round) {
    auto below = [&](int n) { return static_cast<int>(random() % n); };
    Inventory racks = Racks(1 + below(4), 4, 1 + below(3));
    for (NodeInventory& node : racks.nodes) {
      node.free.gpus = below(5);
      node.schedulable = below(8) > 0;
    }
    TopologyTree tree(racks);
    PartialGang gang = Gang(1, {}, {});
    const int workers = 2 * (1 + below(4));
    const std::string home = racks.nodes[below(static_cast<int>(racks.nodes.size()))].name;
    const bool require = below(2) == 0;
    for (int worker = 0; worker < workers; ++worker) {
      if (below(3) == 0) {
        gang.placed[worker] = home;
      } else {
        gang.missing.push_back(worker);
      }
    }
    if (gang.missing.empty() || gang.placed.empty()) continue;
    if (require) gang.request.required_level = "leaf";
    const bool slices = below(2) == 0;
    if (slices) gang.request.slices = {{2, kHostLevel}};
    if (below(2) == 0) {
      std::erase_if(gang.missing,
                    [&](int worker) { return below(4) == 0 && gang.ended.insert(worker).second; });
      if (gang.missing.empty()) continue;
    }
    gang.request.max = workers - static_cast<int>(gang.ended.size());
    gang.request.min = 1 + below(gang.request.max);
    const std::string before = StateOf(tree);
    const auto answer = CompleteGang(tree, gang);
    ASSERT_EQ(StateOf(tree), before) << "round " << round;
    const auto* done = std::get_if<Completion>(&answer);
    if (done == nullptr) continue;
    ++placed_gangs;
    std::map<std::string, int> taken;
    for (const auto& [worker, node] : done->nodes) {
      ++taken[node];
      if (require) {
        EXPECT_EQ(node.substr(0, 2), home.substr(0, 2)) << "round " << round;
      }
    }
    for (const auto& [name, count] : taken) {
      const int node = *tree.FindNode(name);
      EXPECT_LE(count, tree.node(node).free.gpus) << "round " << round;
      EXPECT_TRUE(tree.node(node).schedulable) << "round " << round;
    }
    std::map<int, std::string> all = gang.placed;
    all.insert(done->nodes.begin(), done->nodes.end());
    EXPECT_GE(static_cast<int>(all.size()), gang.request.min) << "round " << round;
    for (int first = 0; slices && first < workers; first += 2) {
      if (all.count(first) == 0 || all.count(first + 1) == 0) continue;
      EXPECT_EQ(all[first], all[first + 1]) << "round " << round;
    }
  }
  EXPECT_GT(placed_gangs, 300);
}

}  // namespace
}  // namespace muster::control
