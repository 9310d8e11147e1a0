#ifndef MUSTER_TRAINER_ENGINE_STEP_REPORTER_H_
#define MUSTER_TRAINER_ENGINE_STEP_REPORTER_H_

#include <optional>

#include "absl/time/time.h"
#include "base/clock.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/engine/link/link.h"

namespace muster::trainer {

// Sends rank 0's step reports. A step is reported once it is committed: every rank of the round is
// known to have applied it, which the next collective of all ranks proves. Reports go out in
// batches, at most ten a second. Not thread-safe.
class StepReporter {
 public:
  StepReporter(Outbox& outbox, const Clock& clock) : outbox_(outbox), clock_(clock) {}

  // Sends the steps committed so far; later reports carry this round.
  void BeginRound(const v1alpha1::RoundId& round);
  // Call when this rank has applied a step; all ranks have then applied the one before.
  void Applied(v1alpha1::StepReport report);
  // Call when all ranks have applied every step added so far.
  void Commit();
  // Call when the ranks go on together from `step`. The step added last may not be applied
  // everywhere: it is forgotten unless it is at or before `step`.
  void Resume(int64_t step);
  // Sends the committed steps if the last batch was long enough ago or `now` is true.
  void Flush(bool now);

 private:
  Outbox& outbox_;
  const Clock& clock_;
  v1alpha1::StepReports batch_;
  std::optional<v1alpha1::StepReport> last_;
  absl::Time sent_ = absl::InfinitePast();
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_REPORTER_H_
