#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "operator/placement/brute_force_levels.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"

// Compares Place() on random small clusters with a search through every assignment. The check of
// what is legal reads the nodes' paths and does not use the tree.
namespace muster::control {
namespace {

constexpr int kClusters = 10'000;

struct Case {
  Inventory inventory;
  GangRequest request;
};

Case RandomCase(std::mt19937& random) {
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Case c;
  c.inventory.levels = kLevels;
  const int nodes = pick(0, 5);
  for (int i = 0; i < nodes; ++i) {
    NodeInventory node;
    node.name = absl::StrCat("n", i);
    node.free = {pick(0, 3), pick(0, 4000), int64_t{1} << 40, 100};
    node.domains = {absl::StrCat("s", pick(0, 1)), absl::StrCat("l", pick(0, 1))};
    node.schedulable = pick(0, 7) > 0;
    if (pick(0, 9) == 0) node.domains.pop_back();
    if (pick(0, 14) == 0) node.domains.clear();
    if (node.domains.size() == 2 && pick(0, 14) == 0) node.domains[0].clear();
    c.inventory.nodes.push_back(node);
  }
  const std::vector<std::string> choices = {"", "spine", "leaf", "host"};
  GangRequest& request = c.request;
  request.per_worker = {pick(0, 2), 1000, 1 << 20, 1};
  request.min = pick(1, 4);
  request.max = pick(request.min, 5);
  if (pick(0, 1) == 0) request.required_level = choices[pick(0, 3)];
  if (pick(0, 1) == 0) request.preferred_level = choices[pick(0, 3)];
  if (pick(0, 2) == 0) request.slices = {{2, choices[pick(1, 3)]}};
  if (pick(0, 5) == 0 && request.max >= 4) {
    const int outer = pick(1, 3);
    request.slices = {{4, choices[outer]}, {2, choices[pick(outer, 3)]}};
  }
  if (!request.slices.empty() && request.slices[0].size > request.max) request.slices.clear();
  return c;
}

bool ShareOne(const Case& c, const std::vector<int>& nodes, const std::string& level) {
  std::set<std::string> domains;
  for (int n : nodes) domains.insert(DomainOf(c.inventory.nodes[n], level));
  return domains.size() == 1 && !domains.begin()->empty();
}

bool IsLegal(const Case& c, const std::vector<int>& nodes) {
  std::map<int, int> per_node;
  for (int n : nodes) ++per_node[n];
  for (const auto& [n, count] : per_node) {
    const NodeInventory& node = c.inventory.nodes[n];
    if (!node.schedulable || node.free.gpus < count * c.request.per_worker.gpus) return false;
    if (node.free.cpu_millis < count * c.request.per_worker.cpu_millis) return false;
  }
  const std::string& required = c.request.required_level;
  if (!required.empty() && !ShareOne(c, nodes, required)) return false;
  for (const Slice& slice : c.request.slices) {
    std::map<std::string, int> per_domain;
    for (int n : nodes) ++per_domain[DomainOf(c.inventory.nodes[n], slice.level)];
    for (const auto& [domain, count] : per_domain) {
      if (domain.empty() || count % slice.size != 0) return false;
    }
  }
  return true;
}

// 3 for one node, 2 for one leaf, 1 for one spine, 0 for less.
int Closeness(const Case& c, const std::vector<int>& nodes) {
  if (ShareOne(c, nodes, "host")) return 3;
  if (ShareOne(c, nodes, "leaf")) return 2;
  return ShareOne(c, nodes, "spine") ? 1 : 0;
}

struct Best {
  int size = 0;
  int closeness = 0;  // of the closest legal gang of that size
};

// Tries every multiset of nodes.
Best BruteForce(const Case& c) {
  Best best;
  std::vector<int> nodes;
  std::function<void(int)> extend = [&](int from) {
    const int size = static_cast<int>(nodes.size());
    if (size > 0 && size >= best.size && IsLegal(c, nodes)) {
      const int closeness = Closeness(c, nodes);
      best = {size, size > best.size ? closeness : std::max(best.closeness, closeness)};
    }
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

std::vector<int> NodesOf(const Placement& placement) {
  std::vector<int> nodes;
  for (const std::string& name : placement.nodes) nodes.push_back(name[1] - '0');
  return nodes;
}

int Wanted(const GangRequest& request) {
  const std::map<std::string, int> closeness = {{"", 3}, {"spine", 1}, {"leaf", 2}, {"host", 3}};
  return closeness.at(request.preferred_level);
}

TEST(PlacePropertyTest, EqualsBruteForceAndViolatesNothing) {
  std::mt19937 random(1);
  int placed = 0;
  for (int round = 0; round < kClusters; ++round) {
    const Case c = RandomCase(random);
    const auto result = Place(c.inventory, c.request);
    const Best best = BruteForce(c);
    ASSERT_EQ(SizeOf(result), best.size) << "case " << round;
    ASSERT_EQ(std::holds_alternative<Placement>(result), best.size >= c.request.min) << round;
    const auto* placement = std::get_if<Placement>(&result);
    if (placement == nullptr) continue;
    ++placed;
    const std::vector<int> nodes = NodesOf(*placement);
    ASSERT_TRUE(IsLegal(c, nodes)) << "case " << round;
    const int closeness = Closeness(c, nodes);
    ASSERT_GE(closeness, std::min(best.closeness, Wanted(c.request))) << "case " << round;
    ASSERT_GT(placement->score, 0) << round;
    ASSERT_LE(placement->score, 1) << round;
    for (const Slice& slice : c.request.slices) {
      for (size_t i = 0; i < nodes.size(); i += slice.size) {
        const std::vector<int> members(nodes.begin() + i, nodes.begin() + i + slice.size);
        ASSERT_TRUE(ShareOne(c, members, slice.level)) << "case " << round;
      }
    }
  }
  EXPECT_GT(placed, kClusters / 4);
}

// The merit of a gang among those that are as close: smaller is better, the first difference
// decides. Fields after the tightness of a domain are compared within one domain only.
struct Merit {
  int gpu_nodes_workers = 0;  // of a gang without GPUs: workers on nodes that have some
  int products = 0;           // of a gang with GPUs: 0 for one alone, 1 for more
  auto operator<=>(const Merit&) const = default;
};

Merit MeritOf(const Case& c, const std::vector<int>& nodes) {
  Merit merit;
  std::set<std::string> products;
  for (int n : nodes) {
    const NodeInventory& node = c.inventory.nodes[n];
    const bool has_gpus = node.allocatable.gpus > 0 || node.free.gpus > 0;
    if (c.request.per_worker.gpus == 0) merit.gpu_nodes_workers += has_gpus;
    if (c.request.per_worker.gpus > 0) products.insert(node.gpu_product);
  }
  merit.products = products.size() > 1 ? 1 : 0;
  return merit;
}

// Workers by node, the fewest first.
std::vector<int> LoadsOf(const std::vector<int>& nodes) {
  std::map<int, int> per_node;
  for (int n : nodes) ++per_node[n];
  std::vector<int> loads;
  for (const auto& [node, load] : per_node) loads.push_back(load);
  std::sort(loads.begin(), loads.end());
  return loads;
}

// Calls `see` with every legal gang of `size`.
void ForEachGang(const Case& c, size_t size,
                 const std::function<void(const std::vector<int>&)>& see) {
  std::vector<int> nodes;
  std::function<void(int)> extend = [&](int from) {
    if (nodes.size() == size) {
      if (IsLegal(c, nodes)) see(nodes);
      return;
    }
    for (int n = from; n < static_cast<int>(c.inventory.nodes.size()); ++n) {
      nodes.push_back(n);
      extend(n);
      nodes.pop_back();
    }
  };
  extend(0);
}

// Nodes of two products, and nodes without GPUs.
Case MixedCase(std::mt19937& random) {
  Case c = RandomCase(random);
  for (NodeInventory& node : c.inventory.nodes) {
    if (random() % 3 == 0) node.free.gpus = 0;
    node.allocatable = node.free;
    if (random() % 2 == 0 && node.free.gpus > 0) node.allocatable.gpus = 3;
    if (node.allocatable.gpus > 0) node.gpu_product = random() % 2 == 0 ? "A100" : "H100";
  }
  return c;
}

TEST(PlacePropertyTest, OfEquallyCloseGangsNoneIsMoreAlike) {
  std::mt19937 random(5);
  int placed = 0, mixed = 0, without = 0;
  for (int round = 0; round < kClusters; ++round) {
    const Case c = MixedCase(random);
    const auto result = Place(c.inventory, c.request);
    const auto* placement = std::get_if<Placement>(&result);
    if (placement == nullptr) continue;
    ++placed;
    const std::vector<int> nodes = NodesOf(*placement);
    ASSERT_TRUE(IsLegal(c, nodes)) << round;
    const int closeness = std::min(Closeness(c, nodes), Wanted(c.request));
    const Merit merit = MeritOf(c, nodes);
    mixed += merit.products;
    without += c.request.per_worker.gpus == 0 && merit.gpu_nodes_workers == 0;
    ForEachGang(c, nodes.size(), [&](const std::vector<int>& other) {
      if (std::min(Closeness(c, other), Wanted(c.request)) < closeness) return;
      const Merit better = MeritOf(c, other);
      // The number of workers on GPU nodes is decided before slices need both kinds in one domain.
      const bool comparable = c.request.slices.empty() || better == Merit();
      if (comparable) ASSERT_LE(merit, better) << "case " << round;
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(placed, kClusters / 5);
  EXPECT_GT(mixed, 20);
  EXPECT_GT(without, 100);
}

// A gang gets the fewest nodes of its leaf, and of these the most even numbers.
TEST(PlacePropertyTest, NoGangOfTheSameLeafIsOnFewerNodesOrMoreEven) {
  std::mt19937 random(6);
  int split = 0;
  for (int round = 0; round < kClusters; ++round) {
    Case c = RandomCase(random);
    c.request.slices.clear();
    c.request.per_worker.gpus = 1;
    for (NodeInventory& node : c.inventory.nodes) node.free.gpus = 1 + random() % 5;
    c.request.max += 2;
    c.request.required_level = "leaf";
    const auto result = Place(c.inventory, c.request);
    const auto* placement = std::get_if<Placement>(&result);
    if (placement == nullptr) continue;
    const std::vector<int> nodes = NodesOf(*placement);
    const std::vector<int> loads = LoadsOf(nodes);
    split += loads.size() > 1;
    const std::string leaf = DomainOf(c.inventory.nodes[nodes[0]], "leaf");
    ForEachGang(c, nodes.size(), [&](const std::vector<int>& other) {
      if (DomainOf(c.inventory.nodes[other[0]], "leaf") != leaf) return;
      const std::vector<int> others = LoadsOf(other);
      ASSERT_LE(loads.size(), others.size()) << round;
      if (loads.size() == others.size()) ASSERT_GE(loads, others) << round;
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(split, kClusters / 20);
}

TEST(PlacePropertyTest, TheOrderOfTheInventoryDoesNotMatter) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    Case c = MixedCase(random);
    const auto before = Place(c.inventory, c.request);
    std::shuffle(c.inventory.nodes.begin(), c.inventory.nodes.end(), random);
    const auto after = Place(c.inventory, c.request);
    ASSERT_EQ(before.index(), after.index());
    if (before.index() == 1) continue;
    ASSERT_EQ(std::get<Placement>(before).nodes, std::get<Placement>(after).nodes) << round;
    ASSERT_EQ(std::get<Placement>(before).score, std::get<Placement>(after).score) << round;
  }
}

TEST(PlacePropertyTest, MoreRoomNeverMeansFewerWorkers) {
  std::mt19937 random(3);
  for (int round = 0; round < 4000; ++round) {
    Case c = RandomCase(random);
    const int before = SizeOf(Place(c.inventory, c.request));
    if (round % 2 == 0 && !c.inventory.nodes.empty()) {
      NodeInventory& node = c.inventory.nodes[round % c.inventory.nodes.size()];
      ++node.free.gpus;
      node.free.cpu_millis += 1000;
    } else {
      NodeInventory node;
      node.name = "n9";
      node.free = {2, 4000, int64_t{1} << 40, 100};
      node.domains = {"s0", "l1"};
      c.inventory.nodes.push_back(node);
    }
    ASSERT_GE(SizeOf(Place(c.inventory, c.request)), before) << round;
  }
}

// A tree that was charged node by node gives the same answers as one that is built anew.
TEST(PlacePropertyTest, AChargedTreeAnswersAsANewOne) {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    Case c = MixedCase(random);
    TopologyTree tree(c.inventory);
    for (NodeInventory& node : c.inventory.nodes) {
      const Resources taken = {static_cast<int64_t>(random() % 4), 1000, 0, 1};
      tree.Charge(*tree.FindNode(node.name), taken);
      node.free.gpus = std::max<int64_t>(0, node.free.gpus - taken.gpus);
      node.free.cpu_millis = std::max<int64_t>(0, node.free.cpu_millis - taken.cpu_millis);
      node.free.slots -= 1;
      if (random() % 5 == 0) {
        node.schedulable = !node.schedulable;
        tree.SetSchedulable(*tree.FindNode(node.name), node.schedulable);
      }
    }
    const auto charged = Place(tree, c.request);
    const auto fresh = Place(c.inventory, c.request);
    ASSERT_EQ(charged.index(), fresh.index()) << round;
    ASSERT_EQ(SizeOf(charged), SizeOf(fresh)) << round;
    if (charged.index() == 1) continue;
    ASSERT_EQ(std::get<Placement>(charged).nodes, std::get<Placement>(fresh).nodes) << round;
    ASSERT_EQ(std::get<Placement>(charged).score, std::get<Placement>(fresh).score) << round;
  }
}

}  // namespace
}  // namespace muster::control
