#ifndef MUSTER_OPERATOR_CORE_FINISH_H_
#define MUSTER_OPERATOR_CORE_FINISH_H_

#include <string>

#include "operator/core/draft.h"
#include "operator/core/workers.h"

namespace muster::control {

// Policy: every member of the round came to the end of training -> Succeeded, once the last step is
// durable. More failed tries to save it than failurePolicy.maxFailures -> Failed.
void FinishWhenDone(Draft& draft);

// Training came to its end and the last step is not known to be saved, although the job saves its
// state: it has not succeeded.
bool IsUnsaved(const Draft& draft);
std::string WhyUnsaved(const Draft& draft);

// The worker reported in round `id` that its ranks came to the end of training by themselves.
bool HasReachedEnd(const Draft& draft, const Worker& worker, RoundStamp id);

// Ends the job for good: condition, completion time, last progress, and the workers are stopped.
void Succeed(Draft& draft, std::string sentence);
void Fail(Draft& draft, Reason reason, std::string sentence);

// Policy for finished jobs: workers still running are told to stop, and deleted when they do not.
// Pods that ended stay until the job is deleted, for their logs.
void StopFinished(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FINISH_H_
