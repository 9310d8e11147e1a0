#include "operator/core/suspend.h"

#include "absl/strings/str_cat.h"
#include "operator/core/elastic.h"
#include "operator/core/rounds.h"

namespace muster::control {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(30);

void DeleteAll(Draft& draft) {
  for (const PodView& pod : draft.view.pods) draft.Delete(pod, kGrace, "the job is suspended");
}

bool HasStopped(const Draft& draft, const v1alpha1::Member& member) {
  const Worker* worker = draft.FindWorker(member.worker().index());
  if (worker == nullptr || worker->incarnation != member.worker().incarnation()) return true;
  if (IsLost(worker->presence)) return true;
  return worker->agent != nullptr && worker->agent->finished &&
         worker->agent->finished->round == draft.plan.memory.id;
}

// Tells every member to save and stop; when all did, their pods go.
void StopMembers(Draft& draft) {
  RoundMemory& memory = draft.memory();
  bool all = true;
  for (const v1alpha1::Member& member : memory.members) {
    if (HasStopped(draft, member)) continue;
    all = false;
    const Worker* worker = draft.FindWorker(member.worker().index());
    if (worker->agent == nullptr || !worker->agent->attached) continue;
    if (memory.stop_session[worker->index] == worker->agent->session) continue;
    draft.Send(*worker, StopOrder{memory.id, true, "the job is suspended"});
    memory.stop_session[worker->index] = worker->agent->session;
  }
  if (all) DeleteAll(draft);
}

bool AnyPresent(const Draft& draft) {
  for (const Worker& worker : draft.workers) {
    const bool may_be =
        worker.presence == Presence::kPresent || worker.presence == Presence::kUnknown;
    if (may_be) return true;
  }
  return false;
}

void Stop(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (!memory.stopping_since) memory.stopping_since = draft.view.now;
  const absl::Time deadline = *memory.stopping_since + draft.options.stop_deadline;
  draft.Condition(ConditionType::kSuspended, false, Reason::kSuspendRequested,
                  "the workers save a checkpoint and stop");
  draft.RequeueAt(deadline);
  if (draft.view.now >= deadline || !HasStarted(draft) || !AnyPresent(draft)) {
    DeleteAll(draft);
  } else if (memory.phase == RoundPhase::kActive) {
    StopMembers(draft);
  } else {
    DriveRounds(draft);
  }
  draft.Say(Reason::kSuspendRequested, absl::StrCat(draft.view.pods.size(), " pods are left"));
}

}  // namespace

void SuspendOrResume(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const bool wanted = draft.spec().suspend();
  if (!wanted && !memory.stopping_since) {
    if (!IsTrue(draft.view.status, ConditionType::kSuspended)) return;
    draft.Condition(ConditionType::kSuspended, false, Reason::kResumed, "the job goes on");
    draft.status().set_start_time(FormatWall(draft.view.wall));
    draft.Normal(Reason::kResumed, "the job goes on");
    return;
  }
  draft.done = true;
  if (!draft.view.pods.empty()) return Stop(draft);
  ForgetRound(draft);
  memory.stopping_since.reset();
  if (!IsTrue(draft.view.status, ConditionType::kSuspended)) {
    draft.Normal(Reason::kWorkersStopped, "the job is suspended; its checkpoints are kept");
  }
  draft.Condition(ConditionType::kSuspended, true, Reason::kWorkersStopped,
                  "no worker runs; the checkpoints are kept");
  draft.Say(Reason::kWorkersStopped, "the job is suspended");
  if (!wanted) draft.RequeueAt(draft.view.now);
}

}  // namespace muster::control
