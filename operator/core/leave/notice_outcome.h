#ifndef MUSTER_OPERATOR_CORE_LEAVE_NOTICE_OUTCOME_H_
#define MUSTER_OPERATOR_CORE_LEAVE_NOTICE_OUTCOME_H_

#include "operator/core/state/draft.h"

// Tells what became of the notices that nodes go away, as events and in status.workers.lastNotice.
namespace muster::control {

// Records that the notice of worker `index` was taken back before the worker left, and forgets it.
void NoteWithdrawn(Draft& draft, int index);

// One of the last steps: records the outcome of each notice whose worker has been replaced. The
// deadline is kept if the job was to go on without the worker by then; it is missed if the worker
// was lost before, or left later. Notices of workers that are stopped or no longer wanted are
// forgotten.
void SettleNotices(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_NOTICE_OUTCOME_H_
