#ifndef MUSTER_OPERATOR_LOCAL_NODE_OBJECT_H_
#define MUSTER_OPERATOR_LOCAL_NODE_OBJECT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/json.h"

namespace muster::control {

struct LocalNode {
  std::string name;
  int gpus = 0;  // nvidia.com/gpu
  // The UUIDs of the GPUs. Each pod is told those of its own GPUs, or nothing if this is empty.
  std::vector<std::string> gpu_uuids = {};
  int cpus = 64;  // declared, not enforced: this machine's cores are shared
  int64_t memory_bytes = int64_t{256} << 30;
  int pods = 110;
  std::map<std::string, std::string> labels = {};  // in addition to those that every node has
};

// The namespace of nodes' Leases, as for kubelets and node-lifecycle.
inline constexpr char kNodeLeaseNamespace[] = "kube-node-lease";

// All functions are pure. Node and Lease are as a kubelet writes them.

// Returns the Node to create, with labels only.
Json NewNode(const LocalNode& node);
// Returns the Node's status: capacity, conditions, addresses, nodeInfo. `stored` is the Node on the
// server: fields of its status that others wrote are kept, and so are the transition times of
// unchanged conditions.
Json NodeStatusOf(const LocalNode& node, const Json& stored, absl::Time now);
// Returns true if the status in `stored` differs from NodeStatusOf, apart from heartbeat times.
bool NodeStatusDiffers(const LocalNode& node, const Json& stored);
// Returns the renewed Lease, or a new one if `stored` is null; its owner is the Node of that UID.
Json RenewedLease(const LocalNode& node, const std::string& node_uid, const Json& stored,
                  absl::Duration duration, absl::Time now);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_NODE_OBJECT_H_
