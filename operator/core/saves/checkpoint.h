#ifndef MUSTER_OPERATOR_CORE_SAVES_CHECKPOINT_H_
#define MUSTER_OPERATOR_CORE_SAVES_CHECKPOINT_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: status.checkpoint and the condition Checkpointed follow the workers' reports. A failed
// save is shown in the condition and emits one event; training goes on, and the trainer tries again
// at the next interval.
void ReportCheckpoint(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SAVES_CHECKPOINT_H_
