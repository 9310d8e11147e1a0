#ifndef MUSTER_OPERATOR_CORE_ROUND_PREEMPTION_H_
#define MUSTER_OPERATOR_CORE_ROUND_PREEMPTION_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: carries out the orders of the job's queue. Each new order is first recorded in
// status.preemption. An order to stop is carried out from the next decision on, by this leader or
// the next, because a plan deletes pods before it writes the status. A job that is to stop saves a
// checkpoint, its pods are deleted, and it waits for its turn with new ones; this does not count as
// a failure. A job that is to shrink goes on with fewer workers (Draft::WorkersWanted) until the
// queue gives it more.
void ApplyQueueOrder(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_PREEMPTION_H_
