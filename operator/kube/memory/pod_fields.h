#ifndef MUSTER_OPERATOR_KUBE_MEMORY_POD_FIELDS_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_POD_FIELDS_H_

#include <string>

#include "base/json.h"

namespace muster::kube {

// Returns the path of the first field in a pod's metadata, its spec or at its top level that
// Kubernetes' Pod does not have, such as "spec.containers[0].volumeMount"; empty if there is none.
// A value of the wrong type is not reported.
std::string UnknownPodField(const Json& pod);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_POD_FIELDS_H_
