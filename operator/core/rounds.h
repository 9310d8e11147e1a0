#ifndef MUSTER_OPERATOR_CORE_ROUNDS_H_
#define MUSTER_OPERATOR_CORE_ROUNDS_H_

#include "operator/core/draft.h"

namespace muster::control {

// Policy: drives the job's round through its phases (transition.h), one step or more per call:
// adopts the recorded round after a take-over, opens rounds, collects answers, decides the resume
// point, and breaks rounds that cannot go on. Every order it plans belongs to the round that
// plan.status records.
void DriveRounds(Draft& draft);

// The workers were stopped and no live state is left: back to Idle, keeping what must not be
// reused.
void ForgetRound(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUNDS_H_
