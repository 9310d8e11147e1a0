#ifndef MUSTER_OPERATOR_CORE_GROWTH_GROW_H_
#define MUSTER_OPERATOR_CORE_GROWTH_GROW_H_

#include <string>

#include "absl/time/time.h"
#include "operator/core/state/draft.h"
#include "operator/core/state/view.h"

namespace muster::control {

// The number of workers beyond workers.count that the queue gives a job, in status.elastic.workers;
// keep_spares.h does the same for spares.
void SetGranted(Draft& draft, int workers);
// Takes those back that the spec no longer allows.
void FollowSpec(Draft& draft);
// Restores the snooze that the last leader began.
void RestoreSnooze(Draft& draft);

// Takes from an order of the queue how many workers beyond workers.count the job may have, and
// snoozes its growth if that is fewer than before.
void TakeGrowth(Draft& draft, const QueueOrder& order);

// Policy: a job with elastic.policy Grow says in status.elastic which sizes beyond its own it would
// take (growth_policy.h); its queue answers with an order when there is capacity. Workers beyond
// workers.count that are lost, leave, or do not come in time are given up, not replaced: they must
// not be placed before another job that waits. Afterwards the job does not grow for a while.
void GrowIntoFreeCapacity(Draft& draft);

// Does not let the job grow before its snooze is over; called when its size has changed.
void SnoozeGrowth(Draft& draft);

// Keeps only the first `keep` workers, workers.count at least, and does not let the job grow for
// `snooze`. The sentence goes into an event.
void GiveUpWorkers(Draft& draft, int keep, absl::Duration snooze, std::string sentence);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_GROWTH_GROW_H_
