#ifndef MUSTER_OPERATOR_CORE_PREEMPTION_H_
#define MUSTER_OPERATOR_CORE_PREEMPTION_H_

#include "operator/core/draft.h"

namespace muster::control {

// Policy: does what the job's queue says. A new order goes into status.preemption first, and is
// carried out from the next decision on, whoever leads then. A job that is to stop saves a
// checkpoint, its pods go, and it waits for its turn with new ones; that is no failure. One that is
// to shrink goes on with fewer workers (Draft::WorkersWanted) until the queue gives it more.
void ObeyQueue(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_PREEMPTION_H_
