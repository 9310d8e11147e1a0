#include "operator/core/account/cost.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/cost_book.h"
#include "operator/core/state/ledger_book.h"
#include "planner/layout.h"

namespace muster::control {
namespace {

bool TakesNode(const PodView& pod) {
  const bool ended = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
  const bool node_is_gone =
      std::any_of(pod.node_conditions.begin(), pod.node_conditions.end(),
                  [](const ConditionView& condition) { return condition.reason == kNodeDeleted; });
  return !pod.node.empty() && !ended && !node_is_gone;
}

// Money of one currency cannot be added to that of another.
bool IsOtherCurrency(const Draft& draft) {
  const std::string& kept = draft.plan.memory.cost.book.currency();
  const std::string& now = draft.options.currency;
  return !kept.empty() && !now.empty() && kept != now;
}

using Incarnations = std::map<int, int>;  // by worker

Incarnations MembersOf(const RoundMemory& memory) {
  Incarnations members;
  for (const v1alpha1::Member& member : memory.members) {
    members[member.worker().index()] = member.worker().incarnation();
  }
  return members;
}

bool IsMember(const Incarnations& members, const PodView& pod) {
  const auto found = members.find(pod.index);
  return found != members.end() && found->second == pod.incarnation;
}

// Returns the rates of all pods, each times `weight`, by what their time goes into as the ledger
// files it.
GangRates FindRates(const Draft& draft, const std::function<double(const PodView&)>& weight) {
  GangRates rates;
  if (IsFinished(draft.plan.status)) return rates;
  const RoundMemory& memory = draft.plan.memory;
  const auto ranks = [&](TimeUse use) { return memory.ledger.ranks[static_cast<size_t>(use)]; };
  const bool recovering = ranks(TimeUse::kRecovering) > 0;
  const bool stepping = ranks(TimeUse::kUnreported) > 0;
  const bool all_step = stepping && memory.phase != RoundPhase::kActive;
  const Incarnations members = stepping ? MembersOf(memory) : Incarnations();
  const bool other_currency = IsOtherCurrency(draft);
  for (const PodView& pod : draft.view.pods) {
    if (!TakesNode(pod)) continue;
    WorkerRates own = pod.rates;
    if (other_currency) own.per_hour.reset();
    const bool steps = all_step || (stepping && IsMember(members, pod));
    CostRates& part = recovering ? rates.lost : steps ? rates.unreported : rates.others;
    part = part + RatesOf(own) * weight(pod);
  }
  return rates;
}

// Takes over the cost of the leader before. A job without one has had neither price nor power: the
// time so far is only counted.
void Restore(Draft& draft) {
  CostMemory& memory = draft.memory().cost;
  memory.restored = true;
  memory.filed_until = draft.view.now;
  memory.book = draft.view.status.cost();
  const absl::Time until = ParseWall(memory.book.until());
  const GangRates since = FindRates(draft, [&](const PodView& pod) {
    // A pod that its kubelet has not accepted yet was bound just now.
    if (pod.accepted == absl::InfinitePast()) return 0.0;
    const absl::Duration gap = draft.view.wall - std::max(until, pod.accepted);
    return std::max(0.0, absl::ToDoubleSeconds(gap));
  });
  if (until == absl::InfinitePast()) {
    const CostRates all = since.lost + since.unreported + since.others;
    memory.book.set_worker_seconds(all.workers);
    return;
  }
  const double before = draft.view.status.ledger().unreported();
  memory.unreported =
      UnreportedPart(memory.book, before / planner::RanksOf(draft.spec().workers()));
  Charge(memory.book, memory.unreported, since, /*seconds=*/1);
}

}  // namespace

void KeepCost(Draft& draft) {
  CostMemory& memory = draft.memory().cost;
  if (!memory.restored) Restore(draft);
  const double elapsed = absl::ToDoubleSeconds(draft.view.now - memory.filed_until);
  Charge(memory.book, memory.unreported, memory.rates, elapsed);
  memory.filed_until = draft.view.now;
  Settle(memory.book, memory.unreported, draft.memory().ledger.reported);
  memory.rates = FindRates(draft, [](const PodView&) { return 1.0; });
}

void ShowCost(Draft& draft) {
  CostMemory& memory = draft.memory().cost;
  // The cost ends with the job, whatever is written later.
  if (!memory.restored || IsFinished(draft.view.status)) return;
  const v1alpha1::CostStatus& book = memory.book;
  if (!(book.priced_seconds() > 0) && !(book.metered_seconds() > 0)) return;
  if (book.priced_seconds() > 0 && book.currency().empty() && !draft.options.currency.empty()) {
    memory.book.set_currency(draft.options.currency);
  }
  memory.book.set_until(FormatWall(draft.view.wall));
  *draft.status().mutable_cost() = memory.book;
}

}  // namespace muster::control
