#ifndef MUSTER_OPERATOR_CORE_ROUND_PREEMPTION_H_
#define MUSTER_OPERATOR_CORE_ROUND_PREEMPTION_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: obeys the job's queue. A new order first goes into status.preemption, and is carried out
// from the next decision on, whoever leads then. A job that is to stop saves a checkpoint, its pods
// are deleted, and it waits for its turn with new ones; that is no failure. A job that is to shrink
// goes on with fewer workers (Draft::WorkersWanted) until the queue gives it more.
void ApplyQueueOrder(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_PREEMPTION_H_
