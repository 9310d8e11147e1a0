#ifndef MUSTER_OPERATOR_KUBE_MEMORY_POD_FIELDS_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_POD_FIELDS_H_

#include <string>

#include "base/json.h"

namespace muster::kube {

// Where a pod's metadata or spec has a field that Kubernetes' pods have not, the first one's path:
// "spec.containers[0].volumeMount". Empty: there is none. What is not of the type that its field
// has is passed over.
std::string UnknownPodField(const Json& pod);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_POD_FIELDS_H_
