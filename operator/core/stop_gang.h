#ifndef MUSTER_OPERATOR_CORE_STOP_GANG_H_
#define MUSTER_OPERATOR_CORE_STOP_GANG_H_

#include "absl/strings/string_view.h"
#include "operator/core/draft.h"

namespace muster::control {

// Saves a checkpoint, stops the workers and removes their pods; what the status says stays. A round
// that is broken is formed once more, to save what its ranks hold, within options.stop_deadline.
// `why` is what workers and pods are told, e.g. "the job is suspended". To be called until no pod
// is left; then EndStop.
void StopGang(Draft& draft, absl::string_view why);

// No pod is left: the job may start anew.
void EndStop(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STOP_GANG_H_
