#ifndef MUSTER_OPERATOR_RECONCILE_RECONCILE_LOG_H_
#define MUSTER_OPERATOR_RECONCILE_RECONCILE_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/round_memory.h"
#include "operator/reconcile/controller_observer.h"

namespace muster::control {

// A job's state after its last decision, for /debug/state.
struct JobDebug {
  std::string key;
  std::string uid;
  int64_t term = 0;
  RoundStamp round;
  std::string state;  // from the status: Training, ...
  std::string phase;
  std::string reason;
  std::string sentence;
  std::vector<std::string> members;  // pods of `round` by rank
  int64_t reconciles = 0;
  int64_t rounds_opened = 0;
  int64_t recoveries = 0;  // rounds that broke, other than by a wanted change
  // Numbers of the last reconcile, and of the last one that changed state, phase, round or reason.
  int64_t reconcile = 0;
  int64_t changed_by = 0;

  // Reason why the job is recovering (empty if it is not), and since when (monotonic).
  std::string recovering_from;
  absl::Time broke_at = absl::InfiniteFuture();
};

// Records a carried-out decision in `debug`. Writes one log line if state, phase, round or reason
// changed (at DEBUG if only the sentence did) and notifies `observer`, which may be null. `before`
// is the memory that the decision was made with. The caller sets `debug.key`, `uid` and `term`.
void RecordDecision(const RoundMemory& before, const Plan& plan, int64_t reconcile, absl::Time now,
                    ControllerObserver* observer, JobDebug& debug);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_RECONCILE_LOG_H_
