#include "tests/bench/contest/placement_contest.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {
namespace {

constexpr int kGpus = 8;

struct Shape {
  int spines;
  int leaves;          // per spine
  int nodes;           // per leaf
  int broken_percent;  // share of nodes on which other pods hold some GPUs
};

int Pick(std::mt19937_64& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

Inventory Cluster(const Shape& shape, std::mt19937_64& random) {
  Inventory inventory{{"core", "spine", "leaf"}, {}};
  for (int i = 0; i < shape.spines * shape.leaves * shape.nodes; ++i) {
    const int leaf = i / shape.nodes;
    NodeInventory node;
    node.name = absl::StrCat("node-", i);
    node.allocatable = {kGpus, 192'000, int64_t{2} << 40, 110};
    node.free = node.allocatable;
    if (Pick(random, 0, 99) < shape.broken_percent) {
      node.free -= WithGpus(Pick(random, 1, kGpus));
    }
    node.domains = {"c", absl::StrCat("s", leaf / shape.leaves), absl::StrCat("l", leaf)};
    inventory.nodes.push_back(std::move(node));
  }
  return inventory;
}

GangRequest Gang(int index, int workers, int gpus) {
  GangRequest request;
  request.job = absl::StrCat("gang-", index);
  request.per_worker = WithGpus(gpus);
  request.min = request.max = workers;
  return request;
}

}  // namespace

Resources WithGpus(int64_t gpus) { return {gpus, gpus * 8000, gpus * (int64_t{64} << 30), 1}; }

Contest SmallContest(uint64_t seed) {
  std::mt19937_64 random(seed);
  Contest contest{Cluster({2, 2, 3, 50}, random), {}};
  constexpr std::pair<int, int> kSizes[] = {{1, 1}, {2, 1}, {4, 1}, {6, 1}, {8, 1}, {2, 2},
                                            {3, 2}, {4, 2}, {2, 4}, {3, 4}, {1, 8}, {2, 8}};
  for (int i = 0; i < 8; ++i) {
    const auto& [workers, gpus] = kSizes[Pick(random, 0, std::size(kSizes) - 1)];
    contest.gangs.push_back(Gang(i, workers, gpus));
  }
  return contest;
}

Contest LargeContest(uint64_t seed) {
  std::mt19937_64 random(seed);
  Contest contest{Cluster({4, 16, 16, 40}, random), {}};
  // Most jobs are small; most GPUs belong to large ones.
  struct Kind {
    int percent;
    int least;  // number of workers, from `least` to `most`
    int most;
    int gpus;
  };
  constexpr Kind kKinds[] = {{30, 1, 8, 1}, {16, 2, 16, 2}, {16, 2, 8, 4}, {10, 8, 32, 1},
                             {19, 1, 4, 8}, {8, 4, 16, 8},  {1, 32, 64, 8}};
  for (int i = 0; i < 200; ++i) {
    int dice = Pick(random, 0, 99);
    const Kind* kind = kKinds;
    while (dice >= kind->percent) dice -= (kind++)->percent;
    contest.gangs.push_back(Gang(i, Pick(random, kind->least, kind->most), kind->gpus));
  }
  return contest;
}

Places PlaceInTurn(const Contest& contest) {
  TopologyTree tree(contest.inventory);
  Places places;
  for (const GangRequest& gang : contest.gangs) {
    const auto answer = Place(tree, gang);
    const auto* placement = std::get_if<Placement>(&answer);
    places.push_back(placement == nullptr ? std::vector<std::string>{} : placement->nodes);
    for (const std::string& node : places.back()) {
      tree.Charge(*tree.FindNode(node), gang.per_worker);
    }
  }
  return places;
}

Places PlaceAtRandom(const Contest& contest, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> free;
  for (const NodeInventory& node : contest.inventory.nodes) free.push_back(node.free.gpus);
  Places places;
  for (const GangRequest& gang : contest.gangs) {
    std::vector<int64_t> left = free;
    std::vector<std::string> nodes;
    for (int worker = 0; worker < gang.max; ++worker) {
      std::vector<int> fit;
      for (int i = 0; i < static_cast<int>(left.size()); ++i) {
        if (left[i] >= gang.per_worker.gpus) fit.push_back(i);
      }
      if (fit.empty()) break;
      const int node = fit[Pick(random, 0, static_cast<int>(fit.size()) - 1)];
      left[node] -= gang.per_worker.gpus;
      nodes.push_back(contest.inventory.nodes[node].name);
    }
    if (static_cast<int>(nodes.size()) < gang.max) {
      nodes.clear();
    } else {
      free = std::move(left);
    }
    places.push_back(std::move(nodes));
  }
  return places;
}

absl::StatusOr<Outcome> ScoreContest(const Contest& contest, const Places& places) {
  const TopologyTree tree(contest.inventory);
  TopologyTree left(contest.inventory);
  Outcome outcome;
  for (size_t i = 0; i < contest.gangs.size(); ++i) {
    const GangRequest& gang = contest.gangs[i];
    if (places[i].empty()) continue;
    if (static_cast<int>(places[i].size()) != gang.max) {
      return absl::InvalidArgumentError(absl::StrCat(gang.job, " is placed only in part"));
    }
    for (const std::string& name : places[i]) {
      const std::optional<int> node = left.FindNode(name);
      if (!node) return absl::InvalidArgumentError(absl::StrCat("there is no node ", name));
      if (left.node(*node).free.gpus < gang.per_worker.gpus) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " is given more workers than it has room for"));
      }
      left.Charge(*node, gang.per_worker);
    }
    // Ranks are numbered along the tree, no matter who chose the nodes.
    std::vector<std::string> nodes = places[i];
    std::sort(nodes.begin(), nodes.end(), [&](const std::string& a, const std::string& b) {
      return *tree.FindNode(a) < *tree.FindNode(b);
    });
    outcome.score += ScorePlacement(tree, gang, nodes).score;
    ++outcome.placed;
  }
  outcome.score /= static_cast<double>(contest.gangs.size());
  return outcome;
}

double ScoreBound(const Contest& contest) {
  const TopologyTree tree(contest.inventory);
  double sum = 0;
  for (const GangRequest& gang : contest.gangs) {
    const auto answer = Place(tree, gang);
    const auto* placement = std::get_if<Placement>(&answer);
    sum += placement == nullptr ? 0 : placement->score;
  }
  return sum / static_cast<double>(contest.gangs.size());
}

}  // namespace muster::control
