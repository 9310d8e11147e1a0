#include "operator/core/ending/ended.h"

#include <set>

#include "operator/core/state/conditions.h"
#include "operator/core/state/index_ranges.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

// A worker that was told to stop ends with 0 too. A new leader has no record of the workers that
// the last one told, but the status shows whether it was about to stop them.
bool MayHaveBeenToldToStop(const Draft& draft) {
  if (draft.plan.memory.stop.since) return true;
  if (draft.plan.memory.id != RoundStamp{}) return false;
  const v1alpha1::TrainingJobStatus& status = draft.view.status;
  const bool making_room = status.preemption().has_workers() && status.preemption().workers() == 0;
  return draft.spec().suspend() || making_room || IsBeingSuspended(status);
}

bool CameToItsEnd(const Worker& worker) {
  if (worker.pod == nullptr) return false;
  const AgentView* agent = worker.agent;
  if (agent != nullptr && agent->finished && agent->finished->succeeded) return true;
  return worker.pod->phase == PodPhase::kSucceeded || worker.pod->exit_code == 0;
}

}  // namespace

void RecordFinishedCommands(Draft& draft) {
  if (draft.spec().has_trainer() || draft.view.status.round() == 0) return;
  if (MayHaveBeenToldToStop(draft)) return;
  std::set<int> ended;
  bool more = false;
  for (Worker& worker : draft.workers) {
    const bool stopped = WasToldToStop(draft.plan.memory, worker.index, worker.incarnation);
    if (!worker.ended && CameToItsEnd(worker) && !stopped) {
      worker.ended = more = true;
    }
    if (worker.ended) ended.insert(worker.index);
  }
  if (more) draft.status().mutable_workers()->set_ended(FormatIndices(ended));
}

int EndedWorkers(const Draft& draft) {
  int ended = 0;
  for (const Worker& worker : draft.workers) {
    ended += worker.ended && worker.index < draft.PodsWanted();
  }
  return ended;
}

int EmptySeats(const Draft& draft, int size, const std::set<int>& members) {
  int taken = static_cast<int>(members.size());
  for (const Worker& worker : draft.workers) {
    taken += worker.ended && members.count(worker.index) == 0;
  }
  return size - taken;
}

bool AllHaveEnded(const Draft& draft) {
  if (LeaderDecidesSuccess(draft.spec())) {
    const Worker* leader = draft.FindWorker(0);
    return leader != nullptr && leader->ended;
  }
  const int count = draft.WorkersWanted();
  return count > 0 && EndedWorkers(draft) == count;
}

}  // namespace muster::control
