#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_GPU_FAULTS_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_GPU_FAULTS_H_

#include <optional>
#include <string>
#include <string_view>

namespace muster::control {

// Returns what a node's condition says about a broken GPU, or about a link between GPUs, as
// "muster.dev/GPUHealthy is False (FatalXid)"; nullopt if it says nothing of the kind. Conditions
// of muster's node agent, EKS, AKS and NVSentinel are known. Those of faults that a program may
// have caused, and of mere slowness, are none. Pure.
std::optional<std::string> FindGpuFault(std::string_view type, std::string_view status,
                                        std::string_view reason);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_GPU_FAULTS_H_
