#ifndef MUSTER_OPERATOR_CORE_ENDED_H_
#define MUSTER_OPERATOR_CORE_ENDED_H_

#include "operator/core/draft.h"

namespace muster::control {

// Records in status.workers.ended whose command came to its end: its agent said so, or its pod
// ended with exit code 0, and nobody had told it to stop. Such a worker stays ended, whatever
// becomes of its pod and of other workers, and its Worker::ended is set. Of jobs without trainer
// only: where a trainer stands is told by its steps.
void NoteEnded(Draft& draft);

// Whether what decides the job's success (every wanted worker, or worker 0) has ended.
bool AllHaveEnded(const Draft& draft);

// Of the wanted workers, how many have.
int EndedWorkers(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDED_H_
