#ifndef MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_
#define MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_

#include <cstdint>
#include <string>

#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/commit/vote_message.h"

namespace muster::trainer {

// Steps skipped because their loss or gradient was not finite. Part of the state: it counts on
// after a resume and on ranks that receive.
struct SkippedSteps {
  int64_t in_row = 0;  // up to the newest step that had something to say about it
  int64_t total = 0;   // of the run
  bool operator==(const SkippedSteps&) const = default;
};

struct StepRules {
  int64_t nominal_tokens = 0;
  double clip_norm = 0.0;  // 0: never
  // How many steps may be skipped before the run ends without success.
  int64_t max_skipped_in_row = INT64_MAX;
  int64_t max_skipped_total = INT64_MAX;
};

// The one function that turns the summed vote into what every rank does; equal totals and an equal
// past give an equal decision. Gradients are of loss sum / nominal tokens; the norm and the clip
// factor speak of them after the one multiplication by nominal / valid. Skipped: no valid token, or
// a norm or loss that is not finite. Of these only the latter count as skipped steps. Pure.
v1alpha1::StepDecision DecideStep(const VoteTotals& totals, const StepRules& rules,
                                  const SkippedSteps& before, const v1alpha1::Version& version,
                                  const v1alpha1::RoundId& round);

// What such a decision leaves behind.
SkippedSteps SkippedAfter(const v1alpha1::StepDecision& decision);

// Why a run ends at this decision, which says too_many_skipped: for people, with the numbers.
std::string WhyTooManySkipped(const v1alpha1::StepDecision& decision, const StepRules& rules);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_
