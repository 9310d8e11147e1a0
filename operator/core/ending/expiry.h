#ifndef MUSTER_OPERATOR_CORE_ENDING_EXPIRY_H_
#define MUSTER_OPERATOR_CORE_ENDING_EXPIRY_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: stops the workers of a finished job, and deletes the job after ttlSecondsAfterFinished.
void ExpireFinished(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDING_EXPIRY_H_
