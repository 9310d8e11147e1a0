#ifndef MUSTER_OPERATOR_CORE_FAILURE_FAILURE_EVIDENCE_H_
#define MUSTER_OPERATOR_CORE_FAILURE_FAILURE_EVIDENCE_H_

#include <string>

#include "operator/core/state/draft.h"
#include "operator/core/state/failure_policy.h"

// The facts that reports of agents and pods give of a failure. Pure.
namespace muster::control {

struct Failure {
  FailureFacts facts;
  FailureVerdict verdict;
  v1alpha1::FailureRecord record;  // without the verdict and the time
  std::string sentence;
};

// The next three return failures that are not judged yet.
Failure FailureOfRank(const Draft& draft, const AgentView& agent, const ExitReport& exit);
Failure FailureOfWorker(const Draft& draft, const AgentView& agent, const FinishedReport& finished);
Failure FailureOfPod(const Draft& draft, const PodView& pod);

// Returns the facts and the verdict of a recorded failure, by what is known of its pod now.
Failure FailureOfRecord(const Draft& draft, const v1alpha1::FailureRecord& record,
                        const PodView& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_FAILURE_EVIDENCE_H_
