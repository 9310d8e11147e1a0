#ifndef MUSTER_OPERATOR_CORE_FAILURE_H_
#define MUSTER_OPERATOR_CORE_FAILURE_H_

#include "operator/core/draft.h"

namespace muster::control {

// Policy: finds failures (ranks that ended, workers that gave up, pods that failed or are being
// disrupted), has each judged once by failure_policy, and carries the verdict out: counted, the job
// fails when more than failurePolicy.maxFailures fall into failurePolicy.window; FailJob ends it at
// once; RestartJob has the next round begin with fresh processes; the rest is the rounds' business.
// Of one round at most one failure is counted, because the others follow from it; a later one of it
// can still end the job by FailJob. A rank's failure is taken back when its pod or node turns out
// lost within a minute.
void CountFailures(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_H_
