#ifndef MUSTER_OPERATOR_SCHEDULER_CLUSTER_NODE_HEALTH_H_
#define MUSTER_OPERATOR_SCHEDULER_CLUSTER_NODE_HEALTH_H_

#include <string>
#include <vector>

#include "operator/objects/object_records.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// What keeps workers off a node. One with kTaint takes those that tolerate it, all others nobody.
struct NodeTrouble {
  FilterReason reason = FilterReason::kNodeNotReady;
  std::string sentence;  // "not Ready (KubeletNotReady)"

  bool closes() const { return reason != FilterReason::kTaint; }
  friend bool operator==(const NodeTrouble&, const NodeTrouble&) = default;
};

// Those that close it first, in the order in which placement asks. What is a taint and a condition
// is told once. Empty: it is well. Pure.
std::vector<NodeTrouble> TroublesOf(const NodeRecord& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_CLUSTER_NODE_HEALTH_H_
