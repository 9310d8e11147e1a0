#include "operator/core/round/stop_gang.h"

#include <string>

#include "operator/core/ending/finish.h"
#include "operator/core/resume/floor.h"
#include "operator/core/round/next_members.h"
#include "operator/core/round/rounds.h"

namespace muster::control {
namespace {

void DeleteAll(Draft& draft, absl::string_view why) {
  for (const PodView& pod : draft.view.pods) {
    draft.Delete(pod, std::string(why));
  }
}

bool HasStopped(const Draft& draft, const v1alpha1::Member& member) {
  const Worker* worker = WorkerOf(draft, member);
  if (worker == nullptr) return true;
  if (IsLost(worker->presence)) return true;
  return worker->agent != nullptr && worker->agent->finished &&
         worker->agent->finished->round == draft.plan.memory.id;
}

// Orders every member to save and stop; once all have, their pods are deleted.
void StopMembers(Draft& draft, absl::string_view why) {
  RoundMemory& memory = draft.memory();
  bool all = true;
  for (const v1alpha1::Member& member : memory.members) {
    if (HasStopped(draft, member)) continue;
    all = false;
    const Worker* worker = draft.FindWorker(member.worker().index());
    if (worker->agent == nullptr || !worker->agent->attached) continue;
    if (memory.stop.sent_session[worker->index] == worker->agent->session) continue;
    draft.Send(*worker, StopOrder{memory.id, true, std::string(why)});
    memory.stop.sent_session[worker->index] = worker->agent->session;
    memory.workers[worker->index].told_to_stop = worker->incarnation;
  }
  if (all) DeleteAll(draft, why);
}

bool AnyPresent(const Draft& draft) {
  for (const Worker& worker : draft.workers) {
    const bool may_be =
        worker.presence == Presence::kPresent || worker.presence == Presence::kUnknown;
    if (may_be) return true;
  }
  return false;
}

}  // namespace

void StopGang(Draft& draft, absl::string_view why) {
  RoundMemory& memory = draft.memory();
  if (!memory.stop.since) memory.stop.since = draft.view.now;
  const bool active = memory.phase == RoundPhase::kActive;
  const absl::Time deadline = *memory.stop.since + draft.options.stop_deadline;
  // Workers whose round cannot be formed any more have as long again to save without it.
  const absl::Time last = active ? deadline : deadline + draft.options.stop_deadline;
  // After the deadline, only the pods' end is awaited, which the watch reports.
  if (draft.view.now < last) draft.RequeueAt(draft.view.now < deadline ? deadline : last);
  // A job that waits for its owner's decision has nothing to save.
  if (draft.view.now >= last || !HasStarted(draft) || !AnyPresent(draft) || IsHeld(memory)) {
    DeleteAll(draft, why);
  } else if (active && IsUnsaved(draft)) {
    DriveRounds(draft);
  } else if (active) {
    StopMembers(draft, why);
  } else if (draft.view.now < deadline) {
    DriveRounds(draft);
  } else {
    StopMembers(draft, why);
  }
}

void EndStop(Draft& draft) {
  ForgetRound(draft);
  draft.memory().stop.since.reset();
}

}  // namespace muster::control
