#ifndef MUSTER_OPERATOR_SCHEDULER_CLUSTER_NODE_HEALTH_H_
#define MUSTER_OPERATOR_SCHEDULER_CLUSTER_NODE_HEALTH_H_

#include <string>
#include <vector>

#include "operator/objects/object_records.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {

// A reason that keeps workers off a node. One with kTaint admits workers that tolerate the taint;
// any other admits none.
struct NodeUnavailability {
  FilterReason reason = FilterReason::kNodeNotReady;
  std::string sentence;  // "not Ready (KubeletNotReady)"

  bool closes() const { return reason != FilterReason::kTaint; }
  friend bool operator==(const NodeUnavailability&, const NodeUnavailability&) = default;
};

// Returns the troubles of a node, those that close it first, in the order in which placement asks.
// A taint that repeats a condition is left out. Empty if the node is well. Pure.
std::vector<NodeUnavailability> UnavailabilitiesOf(const NodeRecord& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_CLUSTER_NODE_HEALTH_H_
