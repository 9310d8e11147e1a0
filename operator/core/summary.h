#ifndef MUSTER_OPERATOR_CORE_SUMMARY_H_
#define MUSTER_OPERATOR_CORE_SUMMARY_H_

#include <optional>
#include <string>

#include "operator/core/state/draft.h"

namespace muster::control {

// The summary, after all policies: sets the conditions Scheduled, Running and Degraded,
// workers.ready and the state for people, from what the policies decided.
void Summarize(Draft& draft);

// Describes the first worker whose pod has a node and a container that kubelet could not start, or
// returns nullopt. A container that cannot start because of its image or its configuration keeps
// its pod Pending: kubelet retries forever, so the pod never fails. The job waits too, and says
// why.
std::optional<std::string> DescribeBlockedPod(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SUMMARY_H_
