#ifndef MUSTER_OPERATOR_CORE_ROUND_ROUNDS_H_
#define MUSTER_OPERATOR_CORE_ROUND_ROUNDS_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: drives the job's round through its phases (round_transition.h), one or more steps per
// call: adopts the recorded round after a take-over, opens rounds, collects answers, decides the
// resume point, and breaks rounds that cannot go on. Every order it plans belongs to the round in
// plan.status.
void DriveRounds(Draft& draft);

// Returns to Idle once the workers were stopped and no live state is left; keeps what must not be
// reused.
void ForgetRound(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_ROUNDS_H_
