#ifndef MUSTER_OPERATOR_CORE_FAILURE_FAILING_NODE_H_
#define MUSTER_OPERATOR_CORE_FAILURE_FAILING_NODE_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: a worker leaves a node on which this job has failed twice within failurePolicy.window, if
// it has not failed on any other node in that time and has workers on others. Counted failures of
// this leadership count. A program that fails by itself moves once, and then has failed on two
// nodes.
void LeaveFailingNode(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_FAILING_NODE_H_
