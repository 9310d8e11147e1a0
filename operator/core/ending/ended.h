#ifndef MUSTER_OPERATOR_CORE_ENDING_ENDED_H_
#define MUSTER_OPERATOR_CORE_ENDING_ENDED_H_

#include <set>

#include "operator/core/state/draft.h"

namespace muster::control {

// Records in status.workers.ended every worker whose command has ended: its agent reported so, or
// its pod ended with exit code 0, and it had not been told to stop. Such a worker stays ended,
// whatever becomes of its pod and of other workers, and its Worker::ended is set. Applies only to
// jobs without trainer; a trainer's position is known by its steps.
void RecordFinishedCommands(Draft& draft);

// Returns true if every worker that decides the job's success (all wanted workers, or worker 0) has
// ended.
bool AllHaveEnded(const Draft& draft);

// Returns how many of the wanted workers have ended.
int EndedWorkers(const Draft& draft);

// Returns how many workers a round of `size` workers lacks that has `members`: the workers that
// have ended need no place. Negative if there are too many.
int EmptySeats(const Draft& draft, int size, const std::set<int>& members);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDING_ENDED_H_
