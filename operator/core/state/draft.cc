#include "operator/core/state/draft.h"

#include <algorithm>
#include <string>
#include <utility>

#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

// The time that a deleted pod has to end.
constexpr absl::Duration kPodGrace = absl::Seconds(30);

}  // namespace

Draft::Draft(const JobView& view_in, const RoundMemory& memory, const DecideOptions& options_in)
    : view(view_in), options(options_in) {
  plan.status = view.status;
  plan.memory = memory;
  ObserveWorkers(view, plan.memory);
  workers = FindWorkers(view, plan.memory, options);
}

int Draft::WorkersWanted() const {
  const int count = WorkerCount(view.spec);
  const v1alpha1::PreemptionStatus& order = plan.status.preemption();
  if (order.workers() > 0) return std::min(count, order.workers());
  return GrowsByItself(view.spec) ? std::max(count, GrantedSize(view.spec, plan.status)) : count;
}

bool Draft::TakingOver() const { return plan.memory.id == RoundStamp{} && view.status.round() > 0; }

int Draft::SparesWanted() const {
  if (SpareCount(view.spec) == 0 || plan.status.preemption().workers() > 0) return 0;
  return std::max(0, GrantedSize(view.spec, plan.status) - WorkerCount(view.spec));
}

int Draft::WorkersBound(int count) const {
  const auto bound = [count](const Worker& worker) {
    return worker.index < count && (IsOnNode(&worker) || worker.ended);
  };
  return static_cast<int>(std::count_if(workers.begin(), workers.end(), bound));
}

const Worker* Draft::FindWorker(int index) const {
  const bool known = index >= 0 && index < static_cast<int>(workers.size());
  return known ? &workers[index] : nullptr;
}

void Draft::SetReason(Reason reason, std::string sentence) {
  plan.reason = std::string(Name(reason));
  plan.sentence = std::move(sentence);
}

void Draft::Condition(ConditionType type, bool value, Reason reason, absl::string_view message) {
  SetCondition(plan.status, type, value, reason, message, view.wall, view.job.generation);
}

void Draft::EmitNormal(Reason reason, std::string message) {
  plan.events.push_back({Event::Type::kNormal, std::string(Name(reason)), std::move(message)});
}

void Draft::EmitWarning(Reason reason, std::string message) {
  plan.events.push_back({Event::Type::kWarning, std::string(Name(reason)), std::move(message)});
}

void Draft::RequeueAt(absl::Time when) {
  const absl::Duration after = std::max(when - view.now, absl::Milliseconds(1));
  if (!plan.requeue_after || after < *plan.requeue_after) plan.requeue_after = after;
}

void Draft::Delete(const PodView& pod, std::string reason) {
  const bool planned = std::any_of(plan.deletes.begin(), plan.deletes.end(),
                                   [&](const DeletePod& other) { return other.uid == pod.uid; });
  if (pod.deleting || planned) return;
  plan.deletes.push_back({pod.name, pod.uid, kPodGrace, std::move(reason)});
}

const Worker* WorkerOf(const Draft& draft, const v1alpha1::Member& member) {
  const Worker* worker = draft.FindWorker(member.worker().index());
  if (worker == nullptr || worker->incarnation != member.worker().incarnation()) return nullptr;
  return worker;
}

}  // namespace muster::control
