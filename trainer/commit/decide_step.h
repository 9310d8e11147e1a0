#ifndef MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_
#define MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_

#include <cstdint>
#include <string>

#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/commit/vote_message.h"

namespace muster::trainer {

// Steps skipped because their loss or gradient was not finite. The counts are part of the state:
// they go on after a resume and on ranks that receive it.
struct SkippedSteps {
  int64_t in_row = 0;  // up to the newest step with a valid token
  int64_t total = 0;   // of the run
  bool operator==(const SkippedSteps&) const = default;
};

struct StepRules {
  int64_t nominal_tokens = 0;
  double clip_norm = 0.0;  // 0: never
  // The run ends without success when more steps than this are skipped.
  int64_t max_skipped_in_row = INT64_MAX;
  int64_t max_skipped_total = INT64_MAX;
};

// Turns the summed vote into the decision that every rank carries out; equal totals and an equal
// past give an equal decision. Gradients are those of loss sum / nominal tokens; the norm and the
// clip factor describe them after the one multiplication by nominal / valid. A step is skipped if
// it has no valid token, or if its norm or loss is not finite; only the latter count as skipped
// steps. Pure.
v1alpha1::StepDecision DecideStep(const VoteTotals& totals, const StepRules& rules,
                                  const SkippedSteps& before, const v1alpha1::Version& version,
                                  const v1alpha1::RoundId& round);

// Returns the decision to skip the step after all, because the update that it decided on is not
// finite.
v1alpha1::StepDecision WithoutUpdate(const v1alpha1::StepDecision& decision, const StepRules& rules,
                                     const SkippedSteps& before);

// Returns the counts after such a decision.
SkippedSteps SkippedStepsAfter(const v1alpha1::StepDecision& decision);

// Explains to people, with the numbers, why a run ends at this decision with too_many_skipped.
std::string WhyTooManySkipped(const v1alpha1::StepDecision& decision, const StepRules& rules);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_
