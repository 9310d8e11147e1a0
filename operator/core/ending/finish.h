#ifndef MUSTER_OPERATOR_CORE_ENDING_FINISH_H_
#define MUSTER_OPERATOR_CORE_ENDING_FINISH_H_

#include <string>

#include "operator/core/state/draft.h"
#include "operator/core/state/workers.h"

namespace muster::control {

// Policy: the job succeeds when every member of the round came to the end of training and the last
// step is durable. It fails after more than failurePolicy.maxFailures failed attempts to save that
// step.
void FinishWhenDone(Draft& draft);

// Returns true if training came to its end and the last step is not known to be saved, although the
// job saves its state: then it has not succeeded.
bool IsUnsaved(const Draft& draft);
std::string WhyUnsaved(const Draft& draft);

// Returns true if the worker reported in round `id` that its ranks came to the end of training by
// themselves.
bool HasReachedEnd(const Draft& draft, const Worker& worker, RoundStamp id);

// Ends the job for good: sets the condition, the completion time and the last progress, and stops
// the workers.
void Succeed(Draft& draft, std::string sentence);
void Fail(Draft& draft, Reason reason, std::string sentence);

// Policy for finished jobs: orders running workers to stop, and deletes those that do not in time.
// Pods that have ended stay until the job is deleted, for their logs.
void StopFinished(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ENDING_FINISH_H_
