#include "operator/queue/place_search.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "operator/queue/book/queue_room.h"
#include "operator/queue/book/quota_tree.h"
#include "operator/queue/room/gang_question.h"

namespace muster::control {
namespace {

bool Admits(const QueueSpec& queue, const std::string& ns) {
  return queue.namespaces.empty() ||
         std::any_of(queue.namespaces.begin(), queue.namespaces.end(),
                     [&](const std::string& one) { return one == ns || one == "*"; });
}

}  // namespace

PlaceSearch::PlaceSearch(CycleContext& cycle)
    : now_(cycle.now),
      tree_(cycle.tree),
      state_(cycle.state),
      options_(cycle.options),
      claims_(cycle.claims),
      refused_(cycle.options.refused == nullptr ? refused_here_ : *cycle.options.refused) {}

std::shared_ptr<const GangNodes> PlaceSearch::NodesFor(const JobEntry& entry) const {
  return options_.gate == nullptr ? nullptr : options_.gate->NodesFor(entry.job.uid);
}

bool PlaceSearch::MayEverStart(const JobEntry& entry, Decision& decision) const {
  const QuotaTree& tree = *state_.tree;
  auto never = [&decision](ScheduleReason reason) {
    decision.reason = reason;
    return false;
  };
  if (tree.is_broken(entry.queue)) return never(ScheduleReason::kNoSuchQueue);
  if (tree.is_cohort(entry.queue)) return never(ScheduleReason::kQueueIsCohort);
  if (state_.queues[entry.queue].spec.stopped) return never(ScheduleReason::kQueueStopped);
  if (!Admits(state_.queues[entry.queue].spec, entry.job.ns)) {
    decision.detail = absl::StrCat("namespace ", entry.job.ns);
    return never(ScheduleReason::kNamespaceNotAdmitted);
  }
  for (const auto& [resource, amount] : entry.Need(entry.job.request.min)) {
    if (!tree.is_limited(entry.queue, resource)) continue;
    const int64_t potential = tree.Potential(entry.queue, resource);
    if (amount <= potential) continue;
    decision.numbers.resource = tree.resource_name(resource);
    decision.numbers.needed = amount;
    decision.numbers.limit = potential;
    return never(ScheduleReason::kExceedsQuota);
  }
  return true;
}

int PlaceSearch::RoomInQuota(const JobEntry& entry, Decision& decision) const {
  const int min = entry.job.request.min;
  Shortage shortage;
  const int64_t most = RoomInQueue(state_, entry, entry.job.request.max, shortage);
  if (most >= min) return static_cast<int>(most);
  decision.reason =
      shortage.of_namespace ? ScheduleReason::kNamespaceLimit : ScheduleReason::kQuotaExhausted;
  decision.numbers.resource = state_.tree->resource_name(shortage.resource);
  decision.numbers.available = shortage.available;
  for (const auto& [resource, amount] : entry.Need(min)) {
    if (resource == shortage.resource) decision.numbers.needed = amount;
  }
  return 0;
}

bool PlaceSearch::FindPlace(const JobEntry& entry, int most, Placement& placement,
                            Decision& decision) {
  GangRequest request = entry.job.request;
  request.max = most;
  auto refuse = [&decision](const Unplaceable& answer) {
    decision.reason = ReasonOf(answer.reason);
    decision.detail = answer.sentence;
    decision.nearest_feasible_size = answer.nearest_feasible_size;
    return false;
  };
  const std::shared_ptr<const GangNodes> nodes = NodesFor(entry);
  if (HasInterPodConstraints(nodes.get())) {
    if (const auto found = AskGate(entry, request, placement, decision)) return *found;
  }
  if (const Unplaceable* known = refused_.Find(request, nodes)) return refuse(*known);
  GatedTree gated(tree_, nodes.get(), request.per_worker);
  auto answer = Place(tree_, request, options_.links);
  if (const auto* unplaceable = std::get_if<Unplaceable>(&answer)) {
    refuse(*unplaceable);
    refused_.Add(request, nodes, *unplaceable);
    return false;
  }
  placement = std::get<Placement>(std::move(answer));
  return true;
}

std::optional<bool> PlaceSearch::AskGate(const JobEntry& entry, const GangRequest& request,
                                         Placement& placement, Decision& decision) const {
  auto answer = options_.gate->PlacesFor(QuestionAbout(now_, state_, entry, request));
  if (!answer) return std::nullopt;
  if (answer->nodes.empty()) {
    decision.reason = ReasonOfName(answer->reason);
    decision.detail = std::move(answer->sentence);
    return false;
  }
  placement = ScorePlacement(tree_, request, answer->nodes, options_.links);
  return true;
}

std::vector<int> PlaceSearch::NodesOf(const std::vector<std::string>& names) const {
  std::vector<int> nodes;
  for (const std::string& name : names) nodes.push_back(tree_.FindNode(name).value_or(0));
  return nodes;
}

bool PlaceSearch::FindPlaceBesideClaims(const JobEntry& entry, int most, Placement& placement) {
  GangRequest request = entry.job.request;
  request.max = static_cast<int>(claims_.RoomInQuota(entry, most));
  const std::shared_ptr<const GangNodes> nodes = NodesFor(entry);
  if (request.max < request.min || HasInterPodConstraints(nodes.get())) return false;
  const auto held = claims_.Held();
  for (const auto& [node, amount] : held) tree_.Charge(node, amount);
  {
    GatedTree gated(tree_, nodes.get(), request.per_worker);
    auto answer = Place(tree_, request, options_.links);
    gated.Open();
    const auto* found = std::get_if<Placement>(&answer);
    request.max = found == nullptr ? 0 : request.max;
    if (found != nullptr) placement = *found;
  }
  for (const auto& [node, amount] : held) tree_.Charge(node, -amount);
  return request.max > 0;
}

}  // namespace muster::control
