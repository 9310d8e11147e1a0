#include "operator/core/status_write_policy.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "google/protobuf/util/message_differencer.h"
#include "operator/core/state/conditions.h"

namespace muster::control {
namespace {

using v1alpha1::Condition;
using v1alpha1::TrainingJobStatus;

bool IsComingTogether(const TrainingJobStatus& status) {
  return status.state() == Name(JobState::kPending) || status.state() == Name(JobState::kQueued) ||
         status.state() == Name(JobState::kStarting);
}

bool Same(const TrainingJobStatus& a, const TrainingJobStatus& b) {
  // Equal bytes mean equal messages, and are much cheaper to compare.
  return a.SerializeAsString() == b.SerializeAsString() ||
         google::protobuf::util::MessageDifferencer::Equals(a, b);
}

void PutBack(const TrainingJobStatus& before, ConditionType type, TrainingJobStatus& after) {
  const Condition* was = FindCondition(before, type);
  if (was == nullptr) return;
  for (Condition& condition : *after.mutable_conditions()) {
    if (condition.type() == was->type()) condition = *was;
  }
}

// Undoes all changes that only show how far the gang has come.
void PutBackGang(const TrainingJobStatus& before, TrainingJobStatus& after) {
  after.set_state(before.state());
  if (before.has_placement()) {
    *after.mutable_placement() = before.placement();
  } else {
    after.clear_placement();
  }
  PutBack(before, ConditionType::kScheduled, after);
  PutBack(before, ConditionType::kRunning, after);
}

bool IsRefused(const TrainingJobStatus& status) {
  const Condition* scheduled = FindCondition(status, ConditionType::kScheduled);
  return scheduled != nullptr && scheduled->reason() == Name(Reason::kUnschedulable);
}

bool RaisesIncarnations(const Draft& draft) {
  const auto& before = draft.view.status.incarnations();
  const auto& after = draft.plan.status.incarnations();
  return before.size() != after.size() || !std::equal(before.begin(), before.end(), after.begin());
}

// Agents obey the term in the status. None exists before a pod runs, and no round is opened before
// the gang is on nodes.
bool NeedsTerm(const Draft& draft) {
  const std::vector<PodView>& pods = draft.view.pods;
  return !draft.view.agents.empty() || draft.WorkersBound() >= draft.WorkersWanted() ||
         std::any_of(pods.begin(), pods.end(),
                     [](const PodView& pod) { return pod.phase != PodPhase::kPending; });
}

TrainingJobStatus WithTermOf(const TrainingJobStatus& before, TrainingJobStatus status) {
  status.clear_term();
  if (before.has_term()) status.set_term(before.term());
  return status;
}

// Returns true if the write can wait because only people would read it.
bool CanWait(const Draft& draft, bool differs, const TrainingJobStatus& news) {
  const Plan& plan = draft.plan;
  if (!plan.events.empty() || !plan.orders.empty()) return false;
  return differs ? IsCosmeticChange(draft.view.status, news) : IsComingTogether(news);
}

}  // namespace

bool IsCosmeticChange(const TrainingJobStatus& before, const TrainingJobStatus& after) {
  // People are waiting to learn that the gang has no place.
  if (IsRefused(after) && !IsRefused(before)) return false;
  TrainingJobStatus rest = after;
  if (before.workers().has_ready()) rest.mutable_workers()->set_ready(before.workers().ready());
  if (IsComingTogether(before) && IsComingTogether(after)) PutBackGang(before, rest);
  return Same(before, rest);
}

void DecideWrite(Draft& draft) {
  Plan& plan = draft.plan;
  absl::Time& write_by = draft.memory().write_by;
  TrainingJobStatus as_before;
  const bool needs_term = NeedsTerm(draft);
  if (!needs_term) as_before = WithTermOf(draft.view.status, plan.status);
  const TrainingJobStatus& news = needs_term ? plan.status : as_before;
  const bool differs = !Same(draft.view.status, news);
  // Pods are made as soon as their incarnations are written; the finalizer comes after them.
  if (RaisesIncarnations(draft)) plan.add_finalizers.clear();
  const bool wanted = differs || !plan.add_finalizers.empty();
  if (wanted && CanWait(draft, differs, news)) {
    if (write_by == absl::InfiniteFuture())
      write_by = draft.view.now + draft.options.status_write_delay;
    if (draft.view.now < write_by) {
      plan.add_finalizers.clear();
      draft.RequeueAt(write_by);
      plan.requeue_when_idle = *plan.requeue_after == write_by - draft.view.now;
      return;
    }
  }
  write_by = absl::InfiniteFuture();
  plan.write_status = differs;
}

}  // namespace muster::control
