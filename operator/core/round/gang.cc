#include "operator/core/round/gang.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/core/ending/finish.h"
#include "operator/core/failure/backoff.h"
#include "operator/core/failure/fence.h"
#include "operator/core/leave/move.h"
#include "operator/core/leave/spot.h"
#include "operator/core/state/membership.h"
#include "planner/layout.h"

namespace muster::control {
namespace {

// A created pod that is not in the cache after this long was deleted at once, and is replaced.
constexpr absl::Duration kCreatedPodSeenWithin = absl::Seconds(5);

CreatePod Describe(const Draft& draft, const Worker& worker) {
  const JobIdentity& job = draft.view.job;
  const std::string index = absl::StrCat(worker.index);
  const std::string incarnation = absl::StrCat(worker.incarnation);
  CreatePod pod;
  pod.name = PodName(job.name, worker.index, worker.incarnation);
  pod.index = worker.index;
  pod.incarnation = worker.incarnation;
  pod.ranks = planner::RanksOf(draft.spec().workers());
  pod.gpus = draft.spec().workers().gpus();
  pod.labels = {{kJobLabel, job.name}, {kIndexLabel, index}, {kIncarnationLabel, incarnation}};
  pod.env = {{"MUSTER_NAMESPACE", job.ns},        {"MUSTER_JOB", job.name},
             {"MUSTER_JOB_UID", job.uid},         {"MUSTER_WORKER_INDEX", index},
             {"MUSTER_INCARNATION", incarnation}, {"MUSTER_RANKS", absl::StrCat(pod.ranks)},
             {"JOB_COMPLETION_INDEX", index}};
  // A command chooses among its GPUs itself, and need not wait until the agent has found them.
  if (pod.gpus > 0 && draft.spec().has_trainer()) {
    pod.env.push_back({"MUSTER_GPUS", absl::StrCat(pod.gpus)});
  }
  pod.avoided_node = AvoidedNode(draft.plan.memory, worker.index);
  return pod;
}

void Raise(Draft& draft, int index) {
  const int next = draft.status().incarnations(index) + 1;
  draft.status().set_incarnations(index, next);
  WorkerMemory& memory = draft.memory().workers[index];
  memory.raised = next;
  memory.needs_replacement = false;
}

// Replaces a lost worker's pod: the first time at once, then with growing delays.
void Replace(Draft& draft, const Worker& worker) {
  WorkerMemory& memory = draft.memory().workers[worker.index];
  if (draft.view.now < memory.not_before) return draft.RequeueAt(memory.not_before);
  ++memory.restarts;
  memory.not_before =
      draft.view.now + Backoff(draft, memory.restarts, absl::StrCat("pod ", worker.index));
  Raise(draft, worker.index);
}

void Create(Draft& draft, const Worker& worker) {
  WorkerMemory& memory = draft.memory().workers[worker.index];
  memory.created = worker.incarnation;
  memory.visible_by = draft.view.now + kCreatedPodSeenWithin;
  draft.plan.creates.push_back(Describe(draft, worker));
  draft.RequeueAt(memory.visible_by);
}

// A command that may still run is not replaced: its pod is deleted, and its end awaited.
bool AwaitItsEnd(Draft& draft, const Worker& worker) {
  if (worker.pod == nullptr || IsProvenStopped(draft, *worker.pod)) return false;
  draft.Delete(*worker.pod, "its command must have ended before another one starts");
  draft.RequeueAt(std::min(EndIsConfirmedAt(draft, *worker.pod), draft.view.now + absl::Hours(1)));
  return true;
}

void KeepWorker(Draft& draft, const Worker& worker) {
  const WorkerMemory& memory = draft.memory().workers[worker.index];
  if (worker.ended) return;
  if (worker.incarnation == 0) return Raise(draft, worker.index);
  if (MayMoveAway(draft, worker)) {
    if (AwaitItsEnd(draft, worker)) return;
    return Raise(draft, worker.index);
  }
  if (GivesUpAvoiding(draft, worker)) return Raise(draft, worker.index);
  if (worker.presence == Presence::kMissing) {
    const bool ours = memory.raised == worker.incarnation;
    if (ours && memory.created != worker.incarnation && memory.seen != worker.incarnation) {
      Create(draft, worker);
    } else if (ours && memory.seen != worker.incarnation && draft.view.now < memory.visible_by) {
      draft.RequeueAt(memory.visible_by);  // created, and not in the cache yet
    } else if (!ours || draft.memory().phase == RoundPhase::kIdle) {
      // The number is another leadership's, or the job was resumed: a pod may have had that name
      // already.
      Raise(draft, worker.index);
    } else {
      Replace(draft, worker);
    }
    return;
  }
  const RoundMemory& round = draft.memory();
  const bool ended = round.phase == RoundPhase::kActive && HasReachedEnd(draft, worker, round.id);
  if (ended || (!IsLost(worker.presence) && !memory.needs_replacement)) return;
  if (!AwaitItsEnd(draft, worker)) Replace(draft, worker);
}

void DeleteOthers(Draft& draft, int count) {
  const std::set<int> members = MemberIndices(draft.memory().members);
  const RoundPhase phase = draft.memory().phase;
  const bool command = !draft.spec().has_trainer();
  // State of the others may still be needed until the smaller round is Active. Commands hold none,
  // and the next round waits for their end. A new leader does not know yet who trains.
  const bool settled = !draft.TakingOver() &&
                       (phase == RoundPhase::kActive || phase == RoundPhase::kIdle || command);
  const bool broken = command && phase == RoundPhase::kHolding;
  for (const PodView& pod : draft.view.pods) {
    const bool known = pod.index >= 0 && pod.index < draft.view.status.incarnations_size();
    if (known && pod.incarnation < draft.view.status.incarnations(pod.index)) {
      draft.Delete(pod, "a newer incarnation takes its place");
    } else if (settled && pod.index >= count && (broken || members.count(pod.index) == 0)) {
      draft.Delete(pod, "the job is to have fewer workers now");
    }
  }
}

}  // namespace

std::string PodName(absl::string_view job, int index, int incarnation) {
  return absl::StrCat(job, "-", index, "-", incarnation);
}

void ReconcilePods(Draft& draft) {
  const int count = draft.PodsWanted();
  while (draft.status().incarnations_size() < count) {
    draft.status().add_incarnations(0);
    Raise(draft, draft.status().incarnations_size() - 1);
  }
  for (const Worker& worker : draft.workers) {
    draft.RequeueAt(std::min(worker.recheck, draft.view.now + absl::Hours(1)));
    if (worker.index < count) KeepWorker(draft, worker);
  }
  DeleteOthers(draft, count);
}

}  // namespace muster::control
