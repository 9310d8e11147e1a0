#ifndef MUSTER_OPERATOR_LOCAL_NODE_OBJECT_H_
#define MUSTER_OPERATOR_LOCAL_NODE_OBJECT_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/json.h"

namespace muster::control {

struct LocalNode {
  std::string name;
  int gpus = 0;   // nvidia.com/gpu
  int cpus = 64;  // declared, not enforced: this machine's cores are shared
  int64_t memory_bytes = int64_t{256} << 30;
  int pods = 110;
  std::map<std::string, std::string> labels = {};  // beside those that every node has
};

// Where a node's Lease is, as kubelets and node-lifecycle agree.
inline constexpr char kNodeLeaseNamespace[] = "kube-node-lease";

// The Node and its Lease as a kubelet writes them. Pure.

// To create: labels alone.
Json NewNode(const LocalNode& node);
// Its status: capacity, conditions, addresses, nodeInfo. `stored` is the Node as the server has it:
// what others wrote into its status stays, and so do transition times of what has not changed.
Json NodeStatusOf(const LocalNode& node, const Json& stored, absl::Time now);
// Whether `stored` says anything else than NodeStatusOf would, heartbeats aside.
bool NodeStatusDiffers(const LocalNode& node, const Json& stored);
// `stored` may be null: then the Lease to create, owned by the Node of that uid.
Json RenewedLease(const LocalNode& node, const std::string& node_uid, const Json& stored,
                  absl::Duration duration, absl::Time now);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_NODE_OBJECT_H_
