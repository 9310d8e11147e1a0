#ifndef MUSTER_OPERATOR_RECONCILE_POD_POD_AVOIDANCE_H_
#define MUSTER_OPERATOR_RECONCILE_POD_POD_AVOIDANCE_H_

#include <string>

#include "base/json.h"

namespace muster::control {

// Keeps a pod off a node, by a term of the pod's required node affinity beside those that the
// template has. Pure.
void AvoidNode(const std::string& node, Json& pod_spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_POD_AVOIDANCE_H_
