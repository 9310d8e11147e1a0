#ifndef MUSTER_OPERATOR_CORE_ROUND_SUSPEND_H_
#define MUSTER_OPERATOR_CORE_ROUND_SUSPEND_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: suspends by saving a checkpoint, stopping the workers and deleting their pods; the
// checkpoint and the status stay. A round that is broken at that time is formed once more, within
// options.stop_deadline, to save what its ranks hold. While a save fails, the stop waits as long as
// workers can retry it; a stop for another job does not. If suspend is withdrawn half-way, the stop
// is first completed, and then the job resumes. start_time begins anew at resume.
void SuspendOrResume(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_SUSPEND_H_
