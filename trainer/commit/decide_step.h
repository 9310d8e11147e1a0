#ifndef MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_
#define MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_

#include <cstdint>

#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/commit/vote_message.h"

namespace muster::trainer {

struct StepRules {
  int64_t nominal_tokens = 0;
  double clip_norm = 0.0;  // 0: never
};

// The one function that turns the summed vote into what every rank does; equal totals give an equal
// decision. Gradients are of loss sum / nominal tokens; the norm and the clip factor speak of them
// after the one multiplication by nominal / valid. Skipped: no valid token, or a norm or loss that
// is not finite. Pure.
v1alpha1::StepDecision DecideStep(const VoteTotals& totals, const StepRules& rules,
                                  const v1alpha1::Version& version, const v1alpha1::RoundId& round);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_
