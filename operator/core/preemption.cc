#include "operator/core/preemption.h"

#include "absl/strings/str_cat.h"
#include "operator/core/spec_values.h"
#include "operator/core/stop_gang.h"

namespace muster::control {
namespace {

Reason ReasonOf(const v1alpha1::PreemptionStatus& told) {
  for (Reason reason : {Reason::kPriority, Reason::kDefragmented}) {
    if (told.reason() == Name(reason)) return reason;
  }
  return Reason::kReclaimed;
}

// Takes an order into the status if it is newer than the one there.
bool TakeOrder(Draft& draft) {
  const std::optional<QueueOrder>& order = draft.view.placement.order;
  if (!order || order->time <= ParseWall(draft.view.status.preemption().time())) return false;
  v1alpha1::PreemptionStatus& told = *draft.status().mutable_preemption();
  told.set_time(FormatWall(order->time));
  told.set_reason(order->reason);
  told.set_message(order->sentence);
  told.set_workers(order->workers);
  if (order->workers >= WorkerCount(draft.spec())) {
    told.clear_workers();
    return true;
  }
  if (order->workers == 0) told.set_count(told.count() + 1);
  const int had = draft.view.status.preemption().workers();
  const bool less = had == 0 || order->workers < had;
  if (less) draft.EmitNormal(ReasonOf(told), absl::StrCat("the job ", order->sentence));
  return true;
}

void Stop(Draft& draft) {
  draft.done = true;
  const v1alpha1::PreemptionStatus& told = draft.status().preemption();
  draft.Condition(ConditionType::kPreempted, true, ReasonOf(told), told.message());
  draft.SetReason(ReasonOf(told), absl::StrCat(draft.view.pods.size(), " pods are left"));
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
  v1alpha1::PreemptionStatus& told = *draft.status().mutable_preemption();
  draft.status().mutable_workers()->set_desired(draft.WorkersWanted());
  // A suspended job gives up all its workers anyway.
  if (draft.spec().suspend()) return told.clear_workers();
  if (!told.has_workers()) return ShowRunsAgain(draft);
  if (told.workers() > 0) return;
  if (taken) {
    // A plan deletes pods before it writes the status, so the order is first written by itself.
    draft.done = true;
    draft.SetReason(ReasonOf(told), told.message());
    draft.RequeueAt(draft.view.now);
    return;
  }
  if (!draft.view.pods.empty()) return Stop(draft);
  EndStop(draft);
  told.clear_workers();
  draft.SetReason(ReasonOf(told), "the workers have stopped; the job waits for its turn");
}

}  // namespace muster::control
