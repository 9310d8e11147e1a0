#ifndef MUSTER_OPERATOR_SCHEDULER_CLUSTER_KUEUE_TOPOLOGY_H_
#define MUSTER_OPERATOR_SCHEDULER_CLUSTER_KUEUE_TOPOLOGY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "operator/kube/api.h"
#include "operator/kube/resource_type.h"

namespace muster::control {

// The versions that have served Kueue's Topology objects, the newest first.
inline constexpr kube::ResourceType kKueueTopologies[] = {
    {"kueue.x-k8s.io", "v1beta2", "topologies", "Topology", false, false},
    {"kueue.x-k8s.io", "v1beta1", "topologies", "Topology", false, false},
    {"kueue.x-k8s.io", "v1alpha1", "topologies", "Topology", false, false},
};

// Returns the label keys of spec.levels of the Topology `name`, broad to narrow. A last level
// "kubernetes.io/hostname" is left out: nodes are the narrowest level anyway. kNotFound if there is
// no such object or no such kind.
absl::StatusOr<std::vector<std::string>> ReadKueueLevels(kube::Api& api, const std::string& name);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_CLUSTER_KUEUE_TOPOLOGY_H_
