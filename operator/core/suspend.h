#ifndef MUSTER_OPERATOR_CORE_SUSPEND_H_
#define MUSTER_OPERATOR_CORE_SUSPEND_H_

#include "operator/core/draft.h"

namespace muster::control {

// Policy: suspend saves a checkpoint, stops the workers and removes their pods; the checkpoint and
// the status stay. A round that is broken when suspend is asked for is formed once more, to save
// what its ranks hold, within options.stop_deadline. Taken back half-way, the stop is first carried
// out, then the job resumes. start_time begins anew at resume.
void SuspendOrResume(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SUSPEND_H_
