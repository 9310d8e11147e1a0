#include "operator/core/failure_persistence.h"

#include <algorithm>
#include <string>
#include <vector>

#include "operator/core/spec_values.h"

namespace muster::control {
namespace {

constexpr size_t kMaxBadCheckpoints = 16;

// The last leader judged the recorded round, so pods that are seen to have failed now had failed
// then.
void TakeForJudged(Draft& draft) {
  const v1alpha1::FailureStatus& kept = draft.view.status.failures();
  const bool judged = kept.round() > 0 && kept.round() == draft.view.status.round();
  for (const Worker& worker : draft.workers) {
    if (worker.pod == nullptr) continue;
    const bool named = std::count(kept.pods().begin(), kept.pods().end(), worker.pod->name) > 0;
    const bool failed = judged && worker.pod->phase == PodPhase::kFailed;
    if (named || failed) draft.memory().workers[worker.index].counted_pod = worker.pod->uid;
  }
}

bool HasAnythingToKeep(const RoundMemory& memory) {
  return memory.failed_round > 0 || memory.streak > 0 || !memory.bad_checkpoints.empty() ||
         memory.restart_all;
}

}  // namespace

void RestoreFailures(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.recalled) return;
  memory.recalled = true;
  if (!draft.view.status.has_failures()) return;
  const v1alpha1::FailureStatus& kept = draft.view.status.failures();
  memory.failed_round = std::max(memory.failed_round, kept.round());
  memory.streak = kept.streak();
  memory.restart_all = kept.restarting();
  memory.bad_checkpoints.insert(kept.bad_checkpoints().begin(), kept.bad_checkpoints().end());
  if (kept.has_retry_time()) {
    memory.retry_wall = ParseWall(kept.retry_time());
    // A wall clock that was set back must not make the wait any longer.
    const absl::Duration most = 2 * RetryBackoff(draft.spec(), draft.options.backoff).longest;
    const absl::Duration left = memory.retry_wall - draft.view.wall;
    memory.not_before = draft.view.now + std::clamp(left, absl::ZeroDuration(), most);
  }
  TakeForJudged(draft);
}

void StoreFailures(Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (!memory.recalled || IsFinished(draft.view.status)) return;
  if (!draft.view.status.has_failures() && !draft.status().has_failures() &&
      !HasAnythingToKeep(memory)) {
    return;
  }
  v1alpha1::FailureStatus& kept = *draft.status().mutable_failures();
  if (memory.failed_round > 0) kept.set_round(memory.failed_round);
  kept.clear_streak();
  kept.clear_retry_time();
  kept.clear_restarting();
  if (memory.streak > 0) {
    kept.set_streak(memory.streak);
    if (memory.retry_wall != absl::InfinitePast()) {
      kept.set_retry_time(FormatWall(memory.retry_wall));
    }
  }
  if (memory.restart_all) kept.set_restarting(true);
  std::vector<std::string> bad(memory.bad_checkpoints.begin(), memory.bad_checkpoints.end());
  if (bad.size() > kMaxBadCheckpoints) bad.erase(bad.begin(), bad.end() - kMaxBadCheckpoints);
  kept.mutable_bad_checkpoints()->Assign(bad.begin(), bad.end());
}

}  // namespace muster::control
