#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_CONDITION_FAULTS_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_CONDITION_FAULTS_H_

#include <string>
#include <string_view>

#include "base/json.h"

namespace muster::control {

// Sentences about faults by a node's conditions, as "muster.dev/GPUHealthy is False (FatalXid)", by
// whom they concern; empty: none.
struct ConditionFaults {
  std::string gpus;     // a GPU or a link between GPUs is broken
  std::string network;  // the network between nodes does not work as it should
  std::string rdma;     // its InfiniBand or RoCE ports do not: what talks over TCP is not concerned
  std::string machine;  // a disk, a file system or the kernel: nothing should run here

  friend bool operator==(const ConditionFaults&, const ConditionFaults&) = default;
};

// Notes what one condition says, if `faults` has nothing of the kind yet. Conditions of muster's
// node agent, EKS, AKS, node problem detector and NVSentinel are known. Those of faults that a
// program may have caused, and of mere slowness, are none. Pure.
void NoteCondition(std::string_view type, std::string_view status, std::string_view reason,
                   ConditionFaults& faults);

// Reads all conditions of a Node's status.
ConditionFaults ReadConditionFaults(const Json& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_CONDITION_FAULTS_H_
