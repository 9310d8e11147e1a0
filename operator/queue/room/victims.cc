#include "operator/queue/room/victims.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "operator/queue/room/victim_bound.h"
#include "operator/queue/room/victim_rules.h"
#include "operator/queue/room/victim_trial.h"

namespace muster::control {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

// Candidates to stop, by index, and their cost.
struct StopSet {
  std::vector<int> stopped;
  double cost = kEndless;
};

class VictimSearch {
 public:
  VictimSearch(absl::Time now, const TopologyTree& tree, QueueBook::State& state,
               JobEntry& newcomer, const VictimOptions& options)
      : tree_(tree),
        options_(options),
        trial_(now, tree, state, newcomer, options),
        rules_(now, tree, state, newcomer, options) {}

  std::optional<VictimPlan> Run();

 private:
  std::optional<VictimPlan> ByRoom();
  VictimCandidate& At(int index) { return trial_.candidates()[index]; }
  int Count() { return static_cast<int>(trial_.candidates().size()); }

  bool ChooseStops(VictimPlan& plan);
  // Stop() returns false if the job may not be taken from.
  bool Stop(int index);
  void Unstop(int index) { trial_.SetKeep(At(index), base_keep_[index]); }
  void UnstopAll(std::vector<int>& stopped);
  StopSet Prune(std::vector<int> stopped);
  StopSet GreedyByJob(int domain, bool must_evict_own_queue_first);
  // The cheapest jobs on a node that make room for one more worker there, and that place's price.
  struct Bundle {
    double price = kEndless;
    std::vector<int> jobs;
  };
  // Leaves the trial as it is.
  Bundle CheapestOn(int node);
  StopSet GreedyByNode(int domain, bool must_evict_own_queue_first);
  bool AddForQuota(std::vector<int>& stopped);
  // Stops jobs of the newcomer's own queue, the cheapest first, until borrowers may be taken from.
  void StopOwn(std::vector<int>& stopped);
  void TryAllSets(StopSet& best);
  void TrySets(int index, double cost, std::vector<int>& stopped, StopSet& best);
  void Exchange(int domain, StopSet& best);
  std::vector<int> InDomain(int domain);
  VictimPlan PlanOf(double bound, bool exact);

  const TopologyTree& tree_;
  const VictimOptions options_;
  VictimTrial trial_;
  VictimRules rules_;
  std::vector<int> base_keep_;  // workers kept with all shrunk and none stopped
  std::vector<int> by_cost_;    // candidates, the cheapest to stop first
  std::vector<std::vector<int>> on_node_;
  std::set<int> banned_;
  int tries_ = 0;
};

bool VictimSearch::Stop(int index) {
  if (At(index).keep == 0 || !At(index).stoppable || banned_.contains(index) ||
      !trial_.MayTake(At(index)))
    return false;
  trial_.SetKeep(At(index), 0);
  ++tries_;
  return true;
}

void VictimSearch::UnstopAll(std::vector<int>& stopped) {
  for (int index : stopped) Unstop(index);
  stopped.clear();
}

// Unstops the victims that are not needed, the most expensive first, and returns the others. Leaves
// the trial in the state before any stop.
StopSet VictimSearch::Prune(std::vector<int> stopped) {
  std::stable_sort(stopped.begin(), stopped.end(),
                   [this](int a, int b) { return At(a).stop_cost > At(b).stop_cost; });
  StopSet set{{}, 0};
  for (int index : stopped) {
    Unstop(index);
    ++tries_;
    if (trial_.Fits()) continue;
    trial_.SetKeep(At(index), 0);
    set.stopped.push_back(index);
    set.cost += At(index).stop_cost;
  }
  std::vector<int> undo = set.stopped;
  UnstopAll(undo);
  return set;
}

std::vector<int> VictimSearch::InDomain(int domain) {
  std::vector<int> inside;
  for (int index : by_cost_) {
    const std::vector<int>& nodes = At(index).nodes;
    const bool touches = std::any_of(nodes.begin(), nodes.end(), [&](int node) {
      return node >= 0 && trial_.gang().DomainOf(node) == domain;
    });
    if (touches) inside.push_back(index);
  }
  return inside;
}

bool VictimSearch::AddForQuota(std::vector<int>& stopped) {
  for (int index : by_cost_) {
    if (trial_.QuotaFits()) return true;
    if (Stop(index)) stopped.push_back(index);
  }
  return trial_.QuotaFits();
}

void VictimSearch::StopOwn(std::vector<int>& stopped) {
  auto may_reclaim = [this] {
    return std::any_of(by_cost_.begin(), by_cost_.end(), [this](int index) {
      return At(index).reclaim && At(index).keep > 0 && trial_.MayTake(At(index));
    });
  };
  for (int index : by_cost_) {
    if (At(index).reclaim || may_reclaim()) continue;
    if (Stop(index)) stopped.push_back(index);
  }
}

// Stops jobs of a domain, by the price of each worker's place there, until the gang fits.
StopSet VictimSearch::GreedyByJob(int domain, bool must_evict_own_queue_first) {
  std::vector<int> order = InDomain(domain);
  std::vector<double> price(Count());
  for (int index : order) {
    int inside = 0;
    for (int node : At(index).nodes) {
      inside += node >= 0 && trial_.gang().DomainOf(node) == domain ? 1 : 0;
    }
    price[index] =
        At(index).stop_cost / static_cast<double>(BillableUnits(At(index).entry->job, inside));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return price[a] < price[b]; });
  std::vector<int> stopped;
  if (must_evict_own_queue_first) StopOwn(stopped);
  for (int index : order) {
    if (trial_.gang().FitsIn(domain)) break;
    if (Stop(index)) stopped.push_back(index);
  }
  if (trial_.gang().FitsIn(domain) && AddForQuota(stopped)) return Prune(std::move(stopped));
  UnstopAll(stopped);
  return {};
}

VictimSearch::Bundle VictimSearch::CheapestOn(int node) {
  Bundle bundle;
  const int64_t before = trial_.gang().FitOn(node);
  double cost = 0;
  for (int index : on_node_[node]) {
    if (trial_.gang().FitOn(node) > before) break;
    if (!Stop(index)) continue;
    bundle.jobs.push_back(index);
    cost += At(index).stop_cost;
  }
  const int64_t gained = trial_.gang().FitOn(node) - before;
  for (int index : bundle.jobs) Unstop(index);
  if (gained > 0) bundle.price = cost / static_cast<double>(gained);
  return bundle;
}

// Stops jobs on nodes of a domain, by the price of one more worker's place, until the gang fits.
StopSet VictimSearch::GreedyByNode(int domain, bool must_evict_own_queue_first) {
  std::vector<int> stopped;
  if (must_evict_own_queue_first) StopOwn(stopped);
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>>
      cheapest;  // price, node
  for (int node = 0; node < static_cast<int>(on_node_.size()); ++node) {
    if (on_node_[node].empty() || trial_.gang().DomainOf(node) != domain) continue;
    const double price = CheapestOn(node).price;
    if (price < kEndless) cheapest.push({price, node});
  }
  while (!trial_.gang().FitsIn(domain) && !cheapest.empty()) {
    const auto [price, node] = cheapest.top();
    cheapest.pop();
    const Bundle bundle = CheapestOn(node);
    if (bundle.price == kEndless) continue;
    cheapest.push({bundle.price, node});
    if (bundle.price > price) continue;  // others are cheaper by now
    for (int index : bundle.jobs) {
      if (Stop(index)) stopped.push_back(index);
    }
  }
  if (trial_.gang().FitsIn(domain) && AddForQuota(stopped)) return Prune(std::move(stopped));
  UnstopAll(stopped);
  return {};
}

// Bans each of the chosen jobs in turn and takes a cheaper set if there is one.
void VictimSearch::Exchange(int domain, StopSet& best) {
  bool better = true;
  while (better) {
    better = false;
    for (int index : std::vector<int>(best.stopped)) {
      if (tries_ > options_.budget) return;
      banned_.insert(index);
      StopSet other = GreedyByNode(domain, false);
      if (trial_.must_evict_own_queue_first()) {
        StopSet with_own = GreedyByNode(domain, true);
        if (with_own.cost < other.cost) other = std::move(with_own);
      }
      banned_.clear();
      better = other.cost < best.cost;
      if (!better) continue;
      best = std::move(other);
      break;
    }
  }
}

void VictimSearch::TrySets(int index, double cost, std::vector<int>& stopped, StopSet& best) {
  if (cost >= best.cost) return;
  if (trial_.Fits()) {
    best = {stopped, cost};
    return;
  }
  if (index == Count()) return;
  // Jobs of the newcomer's own queue come first, because borrowers may be taken from only then; a
  // borrower's smallest jobs come first, so that most of them may go while it borrows.
  const int candidate = by_cost_[index];
  if (Stop(candidate)) {
    stopped.push_back(candidate);
    TrySets(index + 1, cost + At(candidate).stop_cost, stopped, best);
    stopped.pop_back();
    Unstop(candidate);
  }
  TrySets(index + 1, cost, stopped, best);
}

void VictimSearch::TryAllSets(StopSet& best) {
  std::stable_sort(by_cost_.begin(), by_cost_.end(), [this](int a, int b) {
    if (At(a).reclaim != At(b).reclaim) return At(b).reclaim;
    return BillableUnits(At(a).entry->job, At(a).keep) <
           BillableUnits(At(b).entry->job, At(b).keep);
  });
  std::vector<int> stopped;
  TrySets(0, 0, stopped, best);
  // A job that costs nothing to stop may be in the set without need.
  for (int index : best.stopped) trial_.SetKeep(At(index), 0);
  if (best.cost < kEndless) best = Prune(std::move(best.stopped));
}

bool VictimSearch::ChooseStops(VictimPlan& plan) {
  for (int i = 0; i < Count(); ++i) {
    base_keep_.push_back(At(i).keep);
    by_cost_.push_back(i);
  }
  std::stable_sort(by_cost_.begin(), by_cost_.end(),
                   [this](int a, int b) { return At(a).stop_cost < At(b).stop_cost; });
  on_node_.resize(tree_.level(tree_.node_level()).size());
  for (int index : by_cost_) {
    for (int node : At(index).nodes) {
      if (node < 0) continue;
      std::vector<int>& here = on_node_[node];
      if (here.empty() || here.back() != index) here.push_back(index);
    }
  }
  const std::vector<DomainBound> bounds = BoundDomains(tree_, trial_);
  StopSet best;
  int cheapest = -1;
  for (const DomainBound& bound : bounds) {
    if (bound.cost >= best.cost || (tries_ > options_.budget && best.cost < kEndless)) break;
    auto offer = [&](StopSet set) {
      if (set.cost >= best.cost) return;
      best = std::move(set);
      cheapest = bound.domain;
    };
    for (const bool must_evict_own_queue_first : {false, true}) {
      if (must_evict_own_queue_first && !trial_.must_evict_own_queue_first()) continue;
      offer(GreedyByJob(bound.domain, must_evict_own_queue_first));
      offer(GreedyByNode(bound.domain, must_evict_own_queue_first));
    }
  }
  if (cheapest >= 0) Exchange(cheapest, best);
  const auto& all = trial_.candidates();
  plan.exact = std::count_if(all.begin(), all.end(), [](const VictimCandidate& candidate) {
                 return candidate.stoppable;
               }) <= options_.exhaustive_up_to;
  if (plan.exact) TryAllSets(best);
  if (best.cost == kEndless) return false;
  for (int index : best.stopped) trial_.SetKeep(At(index), 0);
  plan.cost = best.cost;
  plan.cost_bound = plan.exact ? best.cost : std::min(best.cost, bounds.front().cost);
  return true;
}

VictimPlan VictimSearch::PlanOf(double bound, bool exact) {
  VictimPlan plan{{}, 0, bound, exact};
  for (const VictimCandidate& candidate : trial_.candidates()) {
    if (candidate.keep == candidate.workers) continue;
    const double cost = candidate.keep == 0 ? candidate.stop_cost : candidate.shrink_cost;
    plan.victims.push_back({candidate.entry, candidate.keep, cost, candidate.Reason()});
    plan.cost += cost;
  }
  return plan;
}

std::optional<VictimPlan> VictimSearch::Run() {
  if (trial_.gang().need() <= 0) return std::nullopt;
  const bool has_room = trial_.Fits();
  if (has_room && rules_.Pass(trial_)) return PlanOf(0, true);
  if (Count() == 0) return std::nullopt;
  if (!has_room) {
    if (auto plan = ByRoom(); plan && rules_.Pass(trial_)) return plan;
    if (!rules_.apply()) return std::nullopt;
  }
  if (!ChooseByRules(trial_, rules_)) return std::nullopt;
  return PlanOf(0, false);
}

std::optional<VictimPlan> VictimSearch::ByRoom() {
  trial_.YieldExtras();
  if (!trial_.Fits()) trial_.ShrinkAll();
  VictimPlan stops;
  if (!trial_.Fits() && !ChooseStops(stops)) return std::nullopt;
  trial_.GiveBackShrunk([this] { return trial_.Fits(); });
  return PlanOf(stops.cost_bound, stops.exact);
}

}  // namespace

std::optional<VictimPlan> FindVictims(absl::Time now, const TopologyTree& tree,
                                      QueueBook::State& state, JobEntry& newcomer,
                                      const VictimOptions& options) {
  return VictimSearch(now, tree, state, newcomer, options).Run();
}

}  // namespace muster::control
