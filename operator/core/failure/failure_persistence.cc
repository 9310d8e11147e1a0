#include "operator/core/failure/failure_persistence.h"

#include <algorithm>
#include <string>
#include <vector>

#include "operator/core/state/spec_values.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

constexpr size_t kMaxBadCheckpoints = 16;

// If the last leader evaluated the recorded round, pods that are seen to have failed now had failed
// then.
void MarkEvaluatedPods(Draft& draft) {
  const v1alpha1::FailureStatus& kept = draft.view.status.failures();
  const bool evaluated = kept.round() > 0 && kept.round() == draft.view.status.round();
  for (const Worker& worker : draft.workers) {
    if (worker.pod == nullptr) continue;
    const bool named = std::count(kept.pods().begin(), kept.pods().end(), worker.pod->name) > 0;
    const bool failed = evaluated && WorkerHasFailed(*worker.pod);
    if (named || failed) draft.memory().workers[worker.index].counted_pod = worker.pod->uid;
  }
}

bool HasAnythingToKeep(const RoundMemory& memory) {
  return memory.failure.evaluated_round > 0 || memory.backoff.streak > 0 ||
         !memory.failure.bad_checkpoints.empty() || memory.failure.restart_job;
}

}  // namespace

void RestoreFailures(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.failures_restored) return;
  memory.failures_restored = true;
  if (!draft.view.status.has_failures()) return;
  const v1alpha1::FailureStatus& kept = draft.view.status.failures();
  memory.failure.evaluated_round = std::max(memory.failure.evaluated_round, kept.round());
  memory.backoff.streak = kept.streak();
  memory.failure.restart_job = kept.restarting();
  memory.failure.bad_checkpoints.insert(kept.bad_checkpoints().begin(),
                                        kept.bad_checkpoints().end());
  if (kept.has_retry_time()) {
    memory.backoff.retry_wall = ParseWall(kept.retry_time());
    // A wall clock that was set back must not make the wait any longer.
    const absl::Duration most = 2 * RetryBackoff(draft.spec(), draft.options.backoff).longest;
    const absl::Duration left = memory.backoff.retry_wall - draft.view.wall;
    memory.backoff.not_before = draft.view.now + std::clamp(left, absl::ZeroDuration(), most);
  }
  MarkEvaluatedPods(draft);
}

void StoreFailures(Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (!memory.failures_restored || IsFinished(draft.view.status)) return;
  if (!draft.view.status.has_failures() && !draft.status().has_failures() &&
      !HasAnythingToKeep(memory)) {
    return;
  }
  v1alpha1::FailureStatus& kept = *draft.status().mutable_failures();
  if (memory.failure.evaluated_round > 0) kept.set_round(memory.failure.evaluated_round);
  kept.clear_streak();
  kept.clear_retry_time();
  kept.clear_restarting();
  if (memory.backoff.streak > 0) {
    kept.set_streak(memory.backoff.streak);
    if (memory.backoff.retry_wall != absl::InfinitePast()) {
      kept.set_retry_time(FormatWall(memory.backoff.retry_wall));
    }
  }
  if (memory.failure.restart_job) kept.set_restarting(true);
  std::vector<std::string> bad(memory.failure.bad_checkpoints.begin(),
                               memory.failure.bad_checkpoints.end());
  if (bad.size() > kMaxBadCheckpoints) bad.erase(bad.begin(), bad.end() - kMaxBadCheckpoints);
  kept.mutable_bad_checkpoints()->Assign(bad.begin(), bad.end());
}

}  // namespace muster::control
