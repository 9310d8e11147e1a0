#ifndef MUSTER_OPERATOR_RECONCILE_RECONCILE_LOG_H_
#define MUSTER_OPERATOR_RECONCILE_RECONCILE_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/plan.h"
#include "operator/core/round_memory.h"
#include "operator/reconcile/controller_observer.h"

namespace muster::control {

// One job's standing after its last decision, for /debug/state.
struct JobDebug {
  std::string key;
  std::string uid;
  int64_t term = 0;
  RoundStamp round;
  std::string state;  // of the status: Training, ...
  std::string phase;
  std::string reason;
  std::string sentence;
  std::vector<std::string> members;  // pods of `round` by rank
  int64_t reconciles = 0;
  int64_t rounds_opened = 0;
  int64_t recoveries = 0;  // rounds that broke and were not asked for
  // Ids of the last reconcile, and of the one that changed state, phase, round or reason.
  int64_t reconcile = 0;
  int64_t changed_by = 0;

  // Since when (monotonic) and why the job is recovering; empty: it is not.
  std::string recovering_from;
  absl::Time broke_at = absl::InfiniteFuture();
};

// Takes a carried-out decision into `debug`: writes one log line when state, phase, round or reason
// changed (the sentence alone: at DEBUG), none otherwise, and tells `observer`, which may be null.
// `before`: the memory that was decided with. `debug.key`, `uid` and `term` are the caller's.
void RecordDecision(const RoundMemory& before, const Plan& plan, int64_t reconcile, absl::Time now,
                    ControllerObserver* observer, JobDebug& debug);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_RECONCILE_LOG_H_
