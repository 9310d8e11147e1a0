#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_NODE_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_NODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/placement/cluster/condition_faults.h"
#include "operator/placement/cluster/label_selector.h"
#include "operator/placement/cluster/resource_amounts.h"

namespace muster::control {

struct NodeTaint {
  std::string key;
  std::string value;
  std::string effect;

  friend bool operator==(const NodeTaint&, const NodeTaint&) = default;
};

// The reasons why a node is set aside until its report changes: that is not believed, or tells of a
// broken part.
enum class NodeFault {
  kNegativeAmount,  // allocatable or capacity below zero
  kAbsurdAmount,    // more than any machine has
  kUnreadable,      // not a quantity
  kContradiction,   // more allocatable than capacity, or than its own GPU count
  // A condition says that a part is broken (condition_faults.h).
  kUnhealthyGpu,
  kUnhealthyNetwork,
  kUnhealthyMachine,
};
inline constexpr int kNodeFaults = 7;
std::string_view Name(NodeFault fault);  // "NegativeAmount", ...: a metric's label

struct NodeComplaint {
  NodeFault fault = NodeFault::kNegativeAmount;
  std::string sentence;

  friend bool operator==(const NodeComplaint&, const NodeComplaint&) = default;
};

// A node as placement sees it. A value: shared, never changed.
struct SchedulingNode {
  std::string name;
  LabelMap labels;
  std::vector<NodeTaint> taints;
  bool unschedulable = false;  // cordoned
  bool ready = false;          // condition Ready is True
  ResourceAmounts allocatable;
  int64_t allowed_pods = 0;
  ConditionFaults faults;
  std::optional<NodeComplaint> complaint;

  friend bool operator==(const SchedulingNode&, const SchedulingNode&) = default;
};

absl::StatusOr<SchedulingNode> ParseSchedulingNode(const Json& json);

// The fields that ParseSchedulingNode reads, as paths for a field mask.
inline constexpr std::string_view kSchedulingNodeFields[] = {
    "metadata.labels",          "spec.taints",
    "spec.unschedulable",       "status.allocatable",
    "status.capacity",          "status.conditions.reason",
    "status.conditions.status", "status.conditions.type",
};

// The node's GPUs by kind: the resource's name, with the product if the node has the label
// ("nvidia.com/gpu NVIDIA-H100-80GB-HBM3"). Empty: none.
std::vector<std::string> GpuKinds(const SchedulingNode& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_SCHEDULING_NODE_H_
