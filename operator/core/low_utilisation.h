#ifndef MUSTER_OPERATOR_CORE_LOW_UTILISATION_H_
#define MUSTER_OPERATOR_CORE_LOW_UTILISATION_H_

#include "operator/core/draft.h"

namespace muster::control {

// Policy: a job that has grown beyond workers.count and whose ranks were busy for less than half of
// the time, over five minutes, goes back to the next smaller size that it may have. More workers
// only made it wait for communication, so it does not grow for an hour.
void GiveUpIdleWorkers(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LOW_UTILISATION_H_
