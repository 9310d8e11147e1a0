#include "operator/core/round/preemption.h"

#include "absl/strings/str_cat.h"
#include "operator/core/growth/grow.h"
#include "operator/core/round/stop_gang.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

Reason ReasonOf(const v1alpha1::PreemptionStatus& recorded) {
  for (Reason reason : {Reason::kPriority, Reason::kDefragmented, Reason::kBacklog}) {
    if (recorded.reason() == Name(reason)) return reason;
  }
  return Reason::kReclaimed;
}

// Takes an order into the status if it is newer than the one there.
bool TakeOrder(Draft& draft) {
  const std::optional<QueueOrder>& order = draft.view.placement.order;
  if (!order || order->time <= ParseWall(draft.view.status.preemption().time())) return false;
  v1alpha1::PreemptionStatus& recorded = *draft.status().mutable_preemption();
  recorded.set_time(FormatWall(order->time));
  recorded.set_reason(order->reason);
  recorded.set_message(order->sentence);
  recorded.set_workers(order->workers);
  TakeGrowth(draft, *order);
  if (order->workers >= WorkerCount(draft.spec())) {
    recorded.clear_workers();
    return true;
  }
  if (order->workers == 0) recorded.set_count(recorded.count() + 1);
  const int had = draft.view.status.preemption().workers();
  const bool less = had == 0 || order->workers < had;
  if (less) draft.EmitNormal(ReasonOf(recorded), absl::StrCat("the job ", order->sentence));
  return true;
}

void StopForOthers(Draft& draft) {
  draft.done = true;
  const v1alpha1::PreemptionStatus& recorded = draft.status().preemption();
  draft.Condition(ConditionType::kPreempted, true, ReasonOf(recorded), recorded.message());
  draft.SetReason(ReasonOf(recorded), absl::StrCat(draft.view.pods.size(), " pods are left"));
  StopGang(draft, "the job makes room for another");
}

void ShowRunsAgain(Draft& draft) {
  if (!IsTrue(draft.view.status, ConditionType::kPreempted)) return;
  if (draft.plan.memory.phase != RoundPhase::kActive) return;
  draft.Condition(ConditionType::kPreempted, false, Reason::kRunsAgain, "the job runs again");
}

}  // namespace

void ApplyQueueOrder(Draft& draft) {
  const bool taken = TakeOrder(draft);
  if (!draft.status().has_preemption()) return;
  v1alpha1::PreemptionStatus& recorded = *draft.status().mutable_preemption();
  draft.status().mutable_workers()->set_desired(draft.WorkersWanted());
  // A suspended job gives up all its workers anyway.
  if (draft.spec().suspend()) return recorded.clear_workers();
  if (!recorded.has_workers()) return ShowRunsAgain(draft);
  if (recorded.workers() > 0) return;
  if (taken) {
    // A plan deletes pods before it writes the status, so the order is first written by itself.
    draft.done = true;
    draft.SetReason(ReasonOf(recorded), recorded.message());
    draft.RequeueAt(draft.view.now);
    return;
  }
  if (!draft.view.pods.empty()) return StopForOthers(draft);
  EndStop(draft);
  recorded.clear_workers();
  draft.SetReason(ReasonOf(recorded), "the workers have stopped; the job waits for its turn");
}

}  // namespace muster::control
