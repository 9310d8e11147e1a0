#include "tests/bench/contest/exact_packing.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "operator/placement/ring_model.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {
namespace {

constexpr double kEpsilon = 1e-9;

class Search {
 public:
  Search(const Contest& contest, int64_t budget)
      : contest_(contest), tree_(contest.inventory), budget_(budget) {
    for (int i = 0; i < Nodes(); ++i) free_.push_back(tree_.node(i).free.gpus);
    for (size_t i = 0; i < contest.gangs.size(); ++i) order_.push_back(static_cast<int>(i));
    // Large gangs first: they affect the score most.
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return Gpus(a) > Gpus(b); });
    for (const GangRequest& gang : contest.gangs) scores_.push_back(ScoresOf(gang));
    splits_.resize(contest.gangs.size());
  }

  std::optional<Places> Run() {
    Descend(0, 0);
    if (budget_ < 0) return std::nullopt;
    Places places;
    for (const std::vector<int>& split : best_splits_) {
      std::vector<std::string> nodes;
      for (size_t node = 0; node < split.size(); ++node) {
        nodes.insert(nodes.end(), split[node], tree_.level(tree_.node_level())[node].name);
      }
      places.push_back(std::move(nodes));
    }
    return places;
  }

 private:
  int Nodes() const { return static_cast<int>(tree_.level(tree_.node_level()).size()); }
  int64_t Gpus(int gang) const {
    return contest_.gangs[gang].max * contest_.gangs[gang].per_worker.gpus;
  }

  // The gang's score by the innermost level that its workers share.
  std::vector<double> ScoresOf(const GangRequest& gang) const {
    std::vector<double> seconds;
    for (const Link& link : LinksOf(tree_, {})) {
      const double step = 1e9 / gang.max / (link.gigabytes_per_second * 1e9);
      seconds.push_back(2.0 * (gang.max - 1) * (step + link.latency_us * 1e-6));
    }
    Inventory empty = contest_.inventory;
    for (NodeInventory& node : empty.nodes) node.free = node.allocatable;
    const auto answer = Place(empty, gang);
    const auto* ideal = std::get_if<Placement>(&answer);
    std::vector<double> scores;
    for (const double one : seconds) {
      const bool comparable = ideal != nullptr && one > 0;
      scores.push_back(comparable ? std::min(1.0, ideal->ring_seconds / one) : 1.0);
    }
    return scores;
  }

  // The range [first, end) of the nodes below a domain, which are contiguous.
  std::pair<int, int> NodesBelow(int level, int index) const {
    int first = index, end = index + 1;
    for (; level < tree_.node_level(); ++level) {
      end = tree_.level(level)[end - 1].end_child;
      first = tree_.level(level)[first].first_child;
    }
    return {first, end};
  }

  int64_t Room(int gang, int level, int index) const {
    const auto [first, end] = NodesBelow(level, index);
    int64_t workers = 0;
    for (int node = first; node < end; ++node) {
      workers += free_[node] / contest_.gangs[gang].per_worker.gpus;
    }
    return workers;
  }

  // The highest score that the gang can reach with the GPUs that are free now.
  double Alone(int gang) const {
    for (int level = tree_.node_level(); level >= 0; --level) {
      for (int i = 0; i < static_cast<int>(tree_.level(level).size()); ++i) {
        if (Room(gang, level, i) >= contest_.gangs[gang].max) return scores_[gang][level];
      }
    }
    return 0;
  }

  double Bound(size_t depth) const {
    double bound = 0;
    for (size_t i = depth; i < order_.size(); ++i) bound += Alone(order_[i]);
    return bound;
  }

  // The free GPUs of the nodes below a domain, with the children of each domain sorted, so that
  // equivalent states have equal strings.
  std::string Canonical(int level, int index) const {
    if (level == tree_.node_level()) return std::string(1, static_cast<char>('0' + free_[index]));
    std::vector<std::string> parts;
    const TopologyTree::Domain& domain = tree_.level(level)[index];
    for (int child = domain.first_child; child < domain.end_child; ++child) {
      parts.push_back(Canonical(level + 1, child));
    }
    std::sort(parts.begin(), parts.end());
    return std::accumulate(parts.begin(), parts.end(), std::string());
  }

  void Descend(size_t depth, double reached) {
    if (--budget_ < 0) return;
    if (reached > best_ + kEpsilon) {
      best_ = reached;
      best_splits_ = splits_;
    }
    if (depth == order_.size() || reached + Bound(depth) <= best_ + kEpsilon) return;
    const std::string state = std::string(1, static_cast<char>(depth)) + Canonical(0, 0);
    const auto [seen, is_new] = seen_.try_emplace(state, reached);
    if (!is_new) {
      if (seen->second >= reached - kEpsilon) return;
      seen->second = reached;
    }
    const int gang = order_[depth];
    for (int level = tree_.node_level(); level >= 0; --level) {
      const double with = reached + scores_[gang][level];
      if (with + Bound(depth + 1) <= best_ + kEpsilon) break;  // broader levels score no more
      for (int i = 0; i < static_cast<int>(tree_.level(level).size()); ++i) {
        if (Room(gang, level, i) < contest_.gangs[gang].max) continue;
        const auto [first, end] = NodesBelow(level, i);
        splits_[gang].assign(Nodes(), 0);
        Split(gang, first, end, contest_.gangs[gang].max, [&] { Descend(depth + 1, with); });
        splits_[gang].clear();
      }
    }
    Descend(depth + 1, reached);  // leaves this gang out
  }

  // Calls `then` for every way to put `left` workers on the nodes from `node` to `end`.
  void Split(int gang, int node, int end, int left, const std::function<void()>& then) {
    if (left == 0) return then();
    if (node == end || budget_ < 0) return;
    const int64_t gpus = contest_.gangs[gang].per_worker.gpus;
    int most = static_cast<int>(std::min<int64_t>(left, free_[node] / gpus));
    // The first of several nodes of a leaf with equal free GPUs gets at least as many workers as
    // the next: other splits are equivalent.
    const bool twin = node > 0 && Before(gang, node - 1) == Before(gang, node) &&
                      tree_.level(tree_.node_level())[node - 1].parent ==
                          tree_.level(tree_.node_level())[node].parent;
    if (twin) most = std::min(most, splits_[gang][node - 1]);
    for (int here = most; here >= 0; --here) {
      splits_[gang][node] = here;
      free_[node] -= here * gpus;
      Split(gang, node + 1, end, left - here, then);
      free_[node] += here * gpus;
    }
    splits_[gang][node] = 0;
  }

  int64_t Before(int gang, int node) const {
    return free_[node] + splits_[gang][node] * contest_.gangs[gang].per_worker.gpus;
  }

  const Contest& contest_;
  const TopologyTree tree_;
  int64_t budget_;
  std::vector<int64_t> free_;  // by node
  std::vector<int> order_;
  std::vector<std::vector<double>> scores_;  // by gang and level
  std::vector<std::vector<int>> splits_;     // by gang and node; empty: not placed
  std::unordered_map<std::string, double> seen_;
  double best_ = -1;
  std::vector<std::vector<int>> best_splits_;
};

}  // namespace

std::optional<Places> PlaceExactly(const Contest& contest, int64_t budget) {
  return Search(contest, budget).Run();
}

}  // namespace muster::control
