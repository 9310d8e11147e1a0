#ifndef MUSTER_OPERATOR_CORE_ROUND_STOP_GANG_H_
#define MUSTER_OPERATOR_CORE_ROUND_STOP_GANG_H_

#include "absl/strings/string_view.h"
#include "operator/core/state/draft.h"

namespace muster::control {

// Saves a checkpoint, stops the workers and deletes their pods; the job's status stays. A broken
// round is formed once more, within options.stop_deadline, to save what its ranks hold, and so is
// one whose last step could not be saved; if it does not form in that time, each worker saves what
// it holds. `why` is
// the reason given to workers and pods, e.g. "the job is suspended". Call it at every decision
// until no pod is left, then call EndStop().
void StopGang(Draft& draft, absl::string_view why);

// Forgets the round once no pod is left: the job may start anew.
void EndStop(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_STOP_GANG_H_
