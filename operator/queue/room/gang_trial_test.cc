#include "operator/queue/room/gang_trial.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {
namespace {

// After any changes the trial agrees with Place on a tree with the same changes.
TEST(GangTrial, AgreesWithPlaceOnRandomClusters) {
  int fits = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int n) { return static_cast<int>(random() % n); };
    Inventory inventory;
    inventory.levels = {"spine", "leaf"};
    for (int i = 0; i < 8; ++i) {
      NodeInventory node;
      node.name = absl::StrCat("n", i);
      node.free = {pick(5), 1000 * pick(5), 100, 10};
      node.schedulable = pick(6) > 0;
      const int leaf = pick(4);
      node.spot = pick(2) == 0;
      if (node.spot) node.spot_pool = absl::StrCat("pool", pick(2));
      node.domains = {absl::StrCat("s", leaf / 2), pick(5) ? absl::StrCat("l", leaf) : ""};
      inventory.nodes.push_back(node);
    }
    GangRequest request;
    request.per_worker = {1 + pick(2), 500 * pick(3), 1, 1};
    const std::vector<std::string> levels = {"", "spine", "leaf", "host"};
    request.required_level = levels[pick(4)];
    if (pick(2)) request.slices.push_back({2, levels[1 + pick(3)]});
    request.min = 1 + pick(6);
    request.max = request.min + pick(3);
    if (seed % 2 == 0) request.spot = {true, pick(8) > 0, pick(5) / 4.0, pick(5)};
    TopologyTree tree(inventory);
    GangNodes usable;
    for (int node = 0; node < 8; ++node) {
      if (pick(8) == 0) usable.closed.push_back(node);
      if (pick(8) == 0) usable.bounds.push_back({node, pick(3)});
    }
    GangTrial trial(tree, request, &usable);
    for (int step = 0; step < 6; ++step) {
      const TopologyTree before = tree;
      GatedTree gated(tree, &usable, request.per_worker);
      const auto answer = Place(tree, request);
      gated.Open();
      for (int node = 0; node < 8; ++node) {
        EXPECT_EQ(tree.node(node).free, before.node(node).free);
        EXPECT_EQ(tree.node(node).schedulable, before.node(node).schedulable);
      }
      EXPECT_EQ(trial.Fits(), std::holds_alternative<Placement>(answer)) << seed << " " << step;
      fits += trial.Fits() ? 1 : 0;
      const int node = pick(8);
      // Takes no more than is free: the tree does not go below zero.
      const bool has = tree.node(node).free.gpus > 0;
      const int count = has && pick(2) ? 1 : -2;
      tree.Charge(node, {count, 0, 0, 0});
      trial.Take(node, {1, 0, 0, 0}, count);
    }
  }
  EXPECT_GT(fits, 1000);
}

TEST(GangTrial, AnUnknownLevelNeverFits) {
  Inventory inventory;
  inventory.nodes.push_back({"n", {8, 1000, 1000, 10}, true, {}, {}});
  const TopologyTree tree(inventory);
  GangRequest request;
  request.required_level = "moon";
  GangTrial trial(tree, request);
  EXPECT_FALSE(trial.Fits());
  trial.Release(0, {8, 0, 0, 0});
  EXPECT_FALSE(trial.Fits());
}

}  // namespace
}  // namespace muster::control
