#ifndef MUSTER_OPERATOR_CORE_ENDING_DELETION_H_
#define MUSTER_OPERATOR_CORE_ENDING_DELETION_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: deletes the pods of a deleted job, then removes its finalizer.
void HandleDeletion(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDING_DELETION_H_
