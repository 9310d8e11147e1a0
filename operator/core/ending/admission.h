#ifndef MUSTER_OPERATOR_CORE_ENDING_ADMISSION_H_
#define MUSTER_OPERATOR_CORE_ENDING_ADMISSION_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: a spec with errors starts nothing; a valid one gets its finalizer and first status.
void Admit(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDING_ADMISSION_H_
