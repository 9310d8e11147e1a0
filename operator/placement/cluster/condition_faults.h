#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_CONDITION_FAULTS_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_CONDITION_FAULTS_H_

#include <string>
#include <string_view>

#include "base/json.h"

namespace muster::control {

// The faults that a node's conditions report, by what is affected, each as a sentence such as
// "muster.dev/GPUHealthy is False (FatalXid)"; empty: no fault.
struct ConditionFaults {
  std::string gpus;     // a GPU or a link between GPUs is broken
  std::string network;  // the network between nodes does not work as it should
  std::string rdma;     // its InfiniBand or RoCE ports do not work; TCP is not affected
  std::string machine;  // a disk, a file system or the kernel: nothing should run here

  friend bool operator==(const ConditionFaults&, const ConditionFaults&) = default;
};

// Records the fault that a condition reports, unless `faults` has one of its kind already. Knows
// the conditions of muster's node agent, EKS, AKS, node problem detector and NVSentinel. Conditions
// that a program may have caused, or that report mere slowness, do not count as faults. Pure.
void NoteCondition(std::string_view type, std::string_view status, std::string_view reason,
                   ConditionFaults& faults);

// Reads all conditions of a Node's status.
ConditionFaults ReadConditionFaults(const Json& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_CONDITION_FAULTS_H_
