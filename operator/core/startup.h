#ifndef MUSTER_OPERATOR_CORE_STARTUP_H_
#define MUSTER_OPERATOR_CORE_STARTUP_H_

#include <optional>
#include <string>

#include "operator/core/state/draft.h"

// A container that cannot start because of its image or its configuration keeps its pod Pending:
// kubelet retries forever, so the pod never fails. The job waits too, and says why.
namespace muster::control {

// Describes the first worker whose pod has a node and a container that kubelet could not start, or
// returns nullopt.
std::optional<std::string> DescribeBlockedPod(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STARTUP_H_
