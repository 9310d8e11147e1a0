#ifndef MUSTER_OPERATOR_CORE_DECIDE_H_
#define MUSTER_OPERATOR_CORE_DECIDE_H_

#include "operator/core/options.h"
#include "operator/core/plan.h"
#include "operator/core/round_memory.h"
#include "operator/core/view.h"

namespace muster::control {

// One decision about one job. Pure: equal arguments, equal plan. Level-triggered: calling it again
// on a world that has not changed plans nothing new. Never asks for an order of a round that is not
// in plan.status (or already in view.status).
//
// Policies in order, each in its own file: deletion, progress, checkpoint, ttl, admission, ended,
// finish, failure, preemption, suspend, deadline, rounds, gang, summary.
Plan Decide(const JobView& view, const RoundMemory& memory, const DecideOptions& options = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_DECIDE_H_
