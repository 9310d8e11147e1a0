#ifndef MUSTER_OPERATOR_CORE_SAVES_SAVE_REQUEST_H_
#define MUSTER_OPERATOR_CORE_SAVES_SAVE_REQUEST_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// The annotation of a TrainingJob that asks for a checkpoint now: every new value asks once. The
// recommended value is the time of the request, in RFC 3339.
inline constexpr char kSaveRequest[] = "muster.dev/save-requested-at";

// Policy: orders a checkpoint for each new value of kSaveRequest, as soon as a round is Active. A
// new leader orders one once more, unless the value is a time and status.checkpoint is newer than
// it.
void SaveOnRequest(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SAVES_SAVE_REQUEST_H_
