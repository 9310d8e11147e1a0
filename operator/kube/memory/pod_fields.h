#ifndef MUSTER_OPERATOR_KUBE_MEMORY_POD_FIELDS_H_
#define MUSTER_OPERATOR_KUBE_MEMORY_POD_FIELDS_H_

#include <string>

#include "base/json.h"

namespace muster::kube {

// Returns the path of the first field that Kubernetes' Pod does not have, such as
// "spec.containers[0].volumeMount"; empty if all fields are known. Looks at the top level, the
// metadata and the spec. The types of values are not checked.
std::string UnknownPodField(const Json& pod);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_MEMORY_POD_FIELDS_H_
