#ifndef MUSTER_OPERATOR_CORE_FAILURE_FAILURE_H_
#define MUSTER_OPERATOR_CORE_FAILURE_FAILURE_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: finds failures (ranks that ended, workers that gave up, pods that failed or are being
// disrupted), has failure_policy judge each one once, and carries out the verdict. When more than
// failurePolicy.maxFailures counted failures fall into failurePolicy.window, the job fails. FailJob
// ends it at once; RestartJob makes the next round begin with fresh processes; the rest is left to
// DriveRounds(). At most one failure of a round is counted, because the others follow from it; a
// later one can still end the job by FailJob. A rank's failure is withdrawn if its pod or node
// turns out to be lost within a minute.
void CountFailures(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_FAILURE_H_
