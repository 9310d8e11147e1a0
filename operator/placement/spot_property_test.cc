#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "operator/placement/brute_force_levels.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"

// Compares Place() and CompleteGang() for gangs with bounds on spot nodes with a search through
// every assignment of worker after worker, on random small clusters. The check of what is legal
// reads the nodes themselves and uses neither the tree nor the bounds' own arithmetic.
namespace muster::control {
namespace {

struct Case {
  Inventory inventory;
  GangRequest request;
  std::map<int, int> placed;  // worker -> node

  int slice() const { return request.slices.empty() ? 1 : request.slices.front().size; }
  const NodeInventory& node(int index) const { return inventory.nodes[index]; }
};

class Random {
 public:
  explicit Random(int seed) : engine_(seed) {}
  int operator()(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(engine_);
  }

 private:
  std::mt19937 engine_;
};

// Makes the case one whose slices may need both kinds of nodes, of a gang that may shrink.
void NeedBothKindsInASlice(Random& pick, Case& c) {
  for (NodeInventory& node : c.inventory.nodes) {
    node.free.gpus = pick(1, 2);
    node.schedulable = true;
    node.domains = {"s0", absl::StrCat("l", pick(0, 1))};
  }
  GangRequest& request = c.request;
  request.required_level.clear();
  request.slices = {{2, "leaf"}};
  request.min = 2;
  request.max = pick(2, 6);
  request.spot = {true, true, 1, pick(1, 4)};
}

Case RandomCase(Random& pick) {
  Case c;
  c.inventory.levels = kLevels;
  const int nodes = pick(1, 5);
  for (int i = 0; i < nodes; ++i) {
    NodeInventory node;
    node.name = absl::StrCat("n", i);
    node.free = {pick(0, 3), 1000, 1000, 100};
    node.domains = {absl::StrCat("s", pick(0, 1)), absl::StrCat("l", pick(0, 1))};
    node.schedulable = pick(0, 9) > 0;
    if (pick(0, 9) == 0) node.domains.pop_back();
    node.spot = pick(0, 1) == 0;
    if (node.spot) node.spot_pool = absl::StrCat("pool", pick(0, 2));
    if (pick(0, 1) == 0) node.gpu_product = "other";
    c.inventory.nodes.push_back(node);
  }
  const std::vector<std::string> choices = {"", "spine", "leaf", "host"};
  GangRequest& request = c.request;
  request.per_worker = {1, 0, 0, 1};
  request.min = pick(1, 4);
  request.max = pick(0, 1) == 0 ? request.min : pick(request.min, 6);
  if (pick(0, 2) == 0) request.required_level = choices[pick(1, 3)];
  if (pick(0, 1) == 0) request.preferred_level = choices[pick(1, 3)];
  if (pick(0, 2) == 0 && request.max >= 2) request.slices = {{2, choices[pick(1, 3)]}};
  if (pick(0, 5) == 0 && request.max >= 4) {
    const int outer = pick(1, 3);
    request.slices = {{4, choices[outer]}, {2, choices[pick(outer, 3)]}};
  }
  request.spot.given = true;
  request.spot.allow = pick(0, 9) > 0;
  if (pick(0, 1) == 0) request.spot.max_fraction = pick(0, 4) / 4.0;
  if (pick(0, 1) == 0) request.spot.on_demand_floor = pick(0, 4);
  if (pick(0, 3) == 0) NeedBothKindsInASlice(pick, c);
  return c;
}

bool AreTogether(const Case& c, int a, int b, const std::string& level) {
  const std::string domain = DomainOf(c.node(a), level);
  return !domain.empty() && domain == DomainOf(c.node(b), level);
}

// The fractions of the cases are quarters, which are exact.
bool MayBeOnSpot(const SpotBounds& spot, int on_spot, int workers) {
  if (!spot.allow) return on_spot == 0;
  const int others = workers - on_spot;
  return on_spot <= spot.max_fraction * workers &&
         others >= std::min(spot.on_demand_floor, workers);
}

// Returns true if the bounds hold at each size that the gang may shrink to, and at its own.
bool KeepsBounds(const Case& c, const std::vector<int>& nodes) {
  int on_spot = 0;
  for (int size = 1; size <= static_cast<int>(nodes.size()); ++size) {
    on_spot += c.node(nodes[size - 1]).spot ? 1 : 0;
    const bool counts =
        size == static_cast<int>(nodes.size()) || (size >= c.request.min && size % c.slice() == 0);
    if (counts && !MayBeOnSpot(c.request.spot, on_spot, size)) return false;
  }
  return true;
}

// Returns true if worker `nodes.size() - 1` may be where it is beside those before it.
bool LastFits(const Case& c, const std::vector<int>& nodes) {
  const int last = static_cast<int>(nodes.size()) - 1;
  const NodeInventory& node = c.node(nodes[last]);
  const auto here = std::count(nodes.begin(), nodes.end(), nodes[last]);
  if (!node.schedulable || here * c.request.per_worker.gpus > node.free.gpus) return false;
  const std::string& required = c.request.required_level;
  if (!required.empty() && !AreTogether(c, nodes.front(), nodes[last], required)) return false;
  return std::all_of(c.request.slices.begin(), c.request.slices.end(), [&](const Slice& slice) {
    return AreTogether(c, nodes[last / slice.size * slice.size], nodes[last], slice.level);
  });
}

// Returns the largest size from min on with an assignment that keeps all rules; 0: none. `level`:
// all workers share a domain of it as well, unless empty.
int BruteForce(const Case& c, const std::string& level) {
  int best = 0;
  std::vector<int> nodes;
  std::function<void()> extend = [&] {
    const int size = static_cast<int>(nodes.size());
    if (size >= c.request.min && size % c.slice() == 0) {
      if (!KeepsBounds(c, nodes)) return;
      best = std::max(best, size);
    }
    if (size == c.request.max || best == c.request.max) return;
    for (int n = 0; n < static_cast<int>(c.inventory.nodes.size()); ++n) {
      nodes.push_back(n);
      const bool near = level.empty() || AreTogether(c, nodes.front(), n, level);
      if (near && LastFits(c, nodes)) extend();
      nodes.pop_back();
    }
  };
  extend();
  return best;
}

std::vector<int> NumbersOf(const std::vector<std::string>& names) {
  std::vector<int> nodes;
  for (const std::string& name : names) nodes.push_back(name[1] - '0');
  return nodes;
}

std::string Text(const Case& c) {
  const GangRequest& r = c.request;
  std::string text =
      absl::StrCat(r.min, "..", r.max, " require=", r.required_level, " allow=", r.spot.allow,
                   " fraction=", r.spot.max_fraction, " floor=", r.spot.on_demand_floor);
  for (const Slice& s : r.slices) absl::StrAppend(&text, " slice ", s.size, " ", s.level);
  for (const NodeInventory& node : c.inventory.nodes) {
    absl::StrAppend(&text, "\n", node.name, " ", absl::StrJoin(node.domains, "/"), " ",
                    node.free.gpus, node.spot ? " spot" : "", node.schedulable ? "" : " closed");
  }
  for (const auto& [worker, node] : c.placed) absl::StrAppend(&text, "\n", worker, " on n", node);
  return text;
}

TEST(SpotPropertyTest, PlaceFindsTheLargestGangThatKeepsTheBoundsAtEachSize) {
  Random pick(1);
  int placed = 0;
  int refused_by_spot = 0;
  for (int round = 0; round < 6000; ++round) {
    const Case c = RandomCase(pick);
    const int best = BruteForce(c, "");
    const auto answer = Place(c.inventory, c.request);
    const auto* placement = std::get_if<Placement>(&answer);
    ASSERT_EQ(placement != nullptr, best > 0) << round << ": " << Text(c);
    if (placement == nullptr) {
      const Unplaceable& no = std::get<Unplaceable>(answer);
      refused_by_spot += no.reason == UnplaceableReason::kSpotLimit ? 1 : 0;
      ASSERT_LT(no.nearest_feasible_size, c.request.min) << round << ": " << Text(c);
      continue;
    }
    ++placed;
    const std::vector<int> nodes = NumbersOf(placement->nodes);
    ASSERT_EQ(static_cast<int>(nodes.size()), best) << round << ": " << Text(c);
    ASSERT_TRUE(KeepsBounds(c, nodes)) << round << ": " << absl::StrJoin(nodes, " ") << Text(c);
    std::vector<int> so_far;
    for (const int node : nodes) {
      so_far.push_back(node);
      ASSERT_TRUE(LastFits(c, so_far)) << round << ": " << absl::StrJoin(nodes, " ") << Text(c);
    }
  }
  EXPECT_GT(placed, 2000);
  EXPECT_GT(refused_by_spot, 500);
}

TEST(SpotPropertyTest, BoundsNeverCostClosenessThatTheyLeave) {
  Random pick(2);
  for (int round = 0; round < 2000; ++round) {
    Case c = RandomCase(pick);
    c.request.preferred_level.clear();
    const auto answer = Place(c.inventory, c.request);
    const auto* placement = std::get_if<Placement>(&answer);
    if (placement == nullptr) continue;
    const std::vector<int> nodes = NumbersOf(placement->nodes);
    for (const char* level : {"host", "leaf", "spine"}) {
      const bool shared = std::all_of(nodes.begin(), nodes.end(), [&](int node) {
        return AreTogether(c, nodes.front(), node, level);
      });
      if (shared) break;
      ASSERT_LT(BruteForce(c, level), static_cast<int>(nodes.size()))
          << round << " " << level << ": " << Text(c);
    }
  }
}

// The order in which spot nodes appear, and their pools' names, change nothing but ties.
TEST(SpotPropertyTest, TheOrderOfTheInventoryDoesNotMatter) {
  Random pick(3);
  for (int round = 0; round < 2000; ++round) {
    Case c = RandomCase(pick);
    const auto before = Place(c.inventory, c.request);
    std::reverse(c.inventory.nodes.begin(), c.inventory.nodes.end());
    const auto after = Place(c.inventory, c.request);
    ASSERT_EQ(before.index(), after.index()) << round;
    if (before.index() == 1) continue;
    ASSERT_EQ(std::get<Placement>(before).nodes, std::get<Placement>(after).nodes) << round;
  }
}

TEST(SpotPropertyTest, WithoutSpotNodesBoundsChangeNothing) {
  Random pick(4);
  for (int round = 0; round < 2000; ++round) {
    Case c = RandomCase(pick);
    for (NodeInventory& node : c.inventory.nodes) node.spot = false;
    const auto with = Place(c.inventory, c.request);
    c.request.spot = {};
    const auto without = Place(c.inventory, c.request);
    ASSERT_EQ(with.index(), without.index()) << round;
    if (with.index() == 1) continue;
    ASSERT_EQ(std::get<Placement>(with).nodes, std::get<Placement>(without).nodes) << round;
  }
}

// Returns the nodes of the lost workers that a search finds so that all bounds hold; nothing: none.
bool CanReplace(const Case& c, const std::vector<int>& missing, std::vector<int> gang) {
  std::function<bool(size_t)> extend = [&](size_t next) {
    if (next == missing.size()) return KeepsBounds(c, gang);
    for (int n = 0; n < static_cast<int>(c.inventory.nodes.size()); ++n) {
      gang[missing[next]] = n;
      const auto here = std::count(gang.begin(), gang.end(), n);
      const bool fits = c.node(n).schedulable && here <= c.node(n).free.gpus;
      if (fits && extend(next + 1)) return true;
      gang[missing[next]] = -1;
    }
    return false;
  };
  return extend(0);
}

// Makes a case of a gang without slices, and returns its nodes; none if it has no place.
std::vector<int> StartGang(Random& pick, Case& c) {
  c = RandomCase(pick);
  c.request.slices.clear();
  c.request.required_level.clear();
  for (NodeInventory& node : c.inventory.nodes) node.schedulable = true;
  const auto start = Place(c.inventory, c.request);
  if (start.index() == 1) return {};
  return NumbersOf(std::get<Placement>(start).nodes);
}

TEST(SpotPropertyTest, ALostWorkerIsReplacedWithinTheBoundsWheneverThatIsPossible) {
  Random pick(5);
  int replaced = 0;
  int refused = 0;
  for (int round = 0; round < 6000; ++round) {
    Case c;
    std::vector<int> gang = StartGang(pick, c);
    if (gang.empty()) continue;
    const int size = static_cast<int>(gang.size());
    if (size < 2) continue;
    // A node goes away, and its workers are to be placed anew, all of them.
    const int lost = gang[pick(0, size - 1)];
    c.inventory.nodes[lost].schedulable = false;
    PartialGang partial;
    partial.request = c.request;
    partial.request.min = partial.request.max = size;
    c.request.min = size;
    for (int worker = 0; worker < size; ++worker) {
      if (gang[worker] == lost) {
        partial.missing.push_back(worker);
        gang[worker] = -1;
      } else {
        partial.placed[worker] = c.node(gang[worker]).name;
      }
    }
    if (partial.placed.empty()) continue;
    const bool possible = CanReplace(c, partial.missing, gang);
    TopologyTree tree(c.inventory);
    for (const auto& [worker, name] : partial.placed) {
      tree.Charge(*tree.FindNode(name), c.request.per_worker);
    }
    const auto answer = CompleteGang(tree, partial);
    ASSERT_EQ(answer.index() == 0, possible) << round << ": " << Text(c);
    ++(possible ? replaced : refused);
    if (!possible) continue;
    for (const auto& [worker, name] : std::get<Completion>(answer).nodes) {
      gang[worker] = NumbersOf({name}).front();
    }
    ASSERT_TRUE(KeepsBounds(c, gang)) << round << ": " << absl::StrJoin(gang, " ") << Text(c);
  }
  EXPECT_GT(replaced, 500);
  EXPECT_GT(refused, 300);
}

// An elastic gang that lost workers, or grows, keeps to its bounds at every size that it may shrink
// to, whichever of its workers were lost.
TEST(SpotPropertyTest, AGangThatLosesWorkersAgainAndAgainKeepsTheBoundsAtEachSmallerSize) {
  Random pick(6);
  int steps = 0;
  for (int round = 0; round < 1500; ++round) {
    Case c;
    std::vector<int> gang = StartGang(pick, c);
    if (gang.empty()) continue;
    for (int step = 0; step < 6; ++step) {
      PartialGang partial;
      partial.request = c.request;
      TopologyTree tree(c.inventory);
      for (int worker = 0; worker < c.request.max; ++worker) {
        const bool has = worker < static_cast<int>(gang.size()) && pick(0, 2) > 0;
        if (!has) {
          partial.missing.push_back(worker);
          continue;
        }
        partial.placed[worker] = c.node(gang[worker]).name;
        tree.Charge(*tree.FindNode(partial.placed[worker]), c.request.per_worker);
      }
      if (partial.placed.empty() || partial.missing.empty()) continue;
      const auto answer = CompleteGang(tree, partial);
      if (answer.index() == 1) continue;
      std::map<int, std::string> all = partial.placed;
      for (const auto& [worker, name] : std::get<Completion>(answer).nodes) all[worker] = name;
      // Only a gang without gaps is one whose last workers leave when it shrinks.
      if (all.rbegin()->first + 1 != static_cast<int>(all.size())) continue;
      gang.clear();
      for (const auto& [worker, name] : all) gang.push_back(NumbersOf({name}).front());
      ASSERT_TRUE(KeepsBounds(c, gang)) << round << ": " << absl::StrJoin(gang, " ") << Text(c);
      ++steps;
    }
  }
  EXPECT_GT(steps, 1000);
}

}  // namespace
}  // namespace muster::control
