#include "operator/queue/room/defragmentation.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"
#include "operator/queue/room/gang_question.h"
#include "operator/queue/room/gang_trial.h"

namespace muster::control {
namespace {

// A job that could move, and its price in the domain that is to be emptied.
struct Movable {
  JobEntry* entry;
  double cost;
  double price;  // for each worker in the domain
};

void ChangeAll(GangTrial& trial, const TopologyTree& tree, const JobEntry& entry, int sign) {
  for (int i = 0; i < entry.job.workers(); ++i) {
    const int node = entry.NodeOf(tree, i);
    if (node >= 0) trial.Release(node, entry.job.request.per_worker, sign);
  }
}

void ChargeAll(TopologyTree& tree, const Resources& each, const std::vector<std::string>& nodes,
               int sign) {
  for (const std::string& name : nodes) {
    if (const auto node = tree.FindNode(name)) tree.Charge(*node, each * sign);
  }
}

std::shared_ptr<const GangNodes> NodesOf(GangGate* gate, const JobEntry& entry) {
  return gate == nullptr ? nullptr : gate->NodesFor(entry.job.uid);
}

// Returns true if the newcomer and all moved jobs have places once the latter have left theirs.
bool AllFit(TopologyTree tree, GangGate* gate, const JobEntry& newcomer,
            const std::vector<JobEntry*>& moved) {
  for (const JobEntry* entry : moved) {
    ChargeAll(tree, entry->job.request.per_worker, entry->job.nodes, -1);
  }
  auto place = [&tree, gate](const JobEntry& entry, int workers) {
    GangRequest request = entry.job.request;
    request.min = request.max = workers;
    const std::shared_ptr<const GangNodes> usable = NodesOf(gate, entry);
    GatedTree gated(tree, usable.get(), request.per_worker);
    const auto answer = Place(tree, request);
    gated.Open();
    const auto* placement = std::get_if<Placement>(&answer);
    if (placement == nullptr) return false;
    ChargeAll(tree, request.per_worker, placement->nodes, 1);
    return true;
  };
  if (!place(newcomer, newcomer.job.request.min)) return false;
  std::vector<JobEntry*> largest_first = moved;
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](JobEntry* a, JobEntry* b) { return a->job.workers() > b->job.workers(); });
  return std::all_of(largest_first.begin(), largest_first.end(), [&](JobEntry* entry) {
    return place(*entry, std::min(entry->job.workers(), entry->job.request.max));
  });
}

// A newcomer with inter-pod constraints needs more than room.
bool HoldsByRules(absl::Time now, const QueueBook::State& state, const VictimOptions& options,
                  const JobEntry& newcomer, const std::vector<JobEntry*>& moved) {
  GangGate* const gate = options.gate;
  const std::shared_ptr<const GangNodes> nodes = NodesOf(gate, newcomer);
  if (!HasInterPodConstraints(nodes.get())) return true;
  GangRequest request = newcomer.job.request;
  request.max = request.min;
  GangQuestion question = QuestionAbout(now, state, newcomer, std::move(request));
  AddLeavers(now, state, options.stop_grace, question);
  for (const JobEntry* entry : moved) question.leavers.push_back({entry->job.uid, 0});
  const std::optional<GangAnswer> answer = gate->PlacesFor(question);
  return !answer || !answer->nodes.empty();
}

std::vector<Movable> MovablesIn(absl::Time now, const TopologyTree& tree,
                                const QueueBook::State& state, const GangTrial& trial, int domain,
                                double most, const VictimOptions& options) {
  std::vector<Movable> movables;
  for (const QueueEntry& queue : state.queues) {
    for (JobEntry* entry : queue.running) {
      int inside = 0;
      for (int i = 0; i < entry->job.workers(); ++i) {
        const int node = entry->NodeOf(tree, i);
        inside += node >= 0 && trial.DomainOf(node) == domain ? 1 : 0;
      }
      const double cost = CostOfStopping(entry->job, now, options);
      const bool stays = entry->job.leaving > 0 || state.ProtectedUntil(*entry) > now;
      if (inside == 0 || cost >= most || stays) continue;
      movables.push_back({entry, cost, cost / inside});
    }
  }
  std::stable_sort(movables.begin(), movables.end(), [](const Movable& a, const Movable& b) {
    return a.price != b.price ? a.price < b.price : a.entry->job.uid < b.entry->job.uid;
  });
  return movables;
}

}  // namespace

std::optional<DefragmentationPlan> PlanDefragmentation(absl::Time now, const TopologyTree& tree,
                                                       QueueBook::State& state,
                                                       const JobEntry& newcomer,
                                                       absl::Time otherwise, absl::Duration at_most,
                                                       const VictimOptions& options) {
  const absl::Duration wait = std::min(otherwise - now, at_most);
  const double gain = static_cast<double>(BillableUnits(newcomer.job, newcomer.job.request.min)) *
                      absl::ToDoubleSeconds(wait);
  std::optional<DefragmentationPlan> best;
  const std::shared_ptr<const GangNodes> usable = NodesOf(options.gate, newcomer);
  GangTrial trial(tree, newcomer.job.request, usable.get());
  for (int domain = 0; domain < trial.domains(); ++domain) {
    std::vector<Movable> chosen;
    for (const Movable& movable : MovablesIn(now, tree, state, trial, domain, gain, options)) {
      if (trial.FitsIn(domain)) break;
      ChangeAll(trial, tree, *movable.entry, 1);
      chosen.push_back(movable);
    }
    const bool fits = trial.FitsIn(domain);
    DefragmentationPlan plan{{}, 0, gain};
    // The dearest jobs stay if they can.
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const Movable& a, const Movable& b) { return a.cost > b.cost; });
    for (const Movable& movable : chosen) {
      ChangeAll(trial, tree, *movable.entry, -1);
      if (!fits || trial.FitsIn(domain)) continue;
      ChangeAll(trial, tree, *movable.entry, 1);
      plan.moved.push_back(movable.entry);
      plan.cost += movable.cost;
    }
    for (const JobEntry* entry : plan.moved) ChangeAll(trial, tree, *entry, -1);
    if (!fits || plan.cost >= gain || (best && plan.cost >= best->cost)) continue;
    if (!AllFit(tree, options.gate, newcomer, plan.moved)) continue;
    if (HoldsByRules(now, state, options, newcomer, plan.moved)) best = std::move(plan);
  }
  return best;
}

}  // namespace muster::control
