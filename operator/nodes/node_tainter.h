#ifndef MUSTER_OPERATOR_NODES_NODE_TAINTER_H_
#define MUSTER_OPERATOR_NODES_NODE_TAINTER_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "operator/kube/api.h"
#include "operator/objects/caches.h"

namespace muster::control {

// Adds the taint of unhealthy_taint.h to nodes that have a False condition of kHealthConditions
// (node_wish.h), and removes it later. An annotation keeps the node's fault history, so that the
// next leader goes on with it; taint and annotation are written together. Other taints are left
// alone. Used by one thread, while its replica leads. `api`, `clock` and `nodes` must outlive it.
class NodeTainter {
 public:
  // The most nodes that one run reads from the server.
  static constexpr int kNodesPerRun = 50;
  // The delay before a node with the taint, or whose write failed, is read again.
  static constexpr absl::Duration kRetry = absl::Seconds(30);

  NodeTainter(kube::Api& api, const Clock& clock, const NodeCache& nodes)
      : api_(api), clock_(clock), nodes_(nodes) {}

  // Returns the number of writes.
  int RunOnce();

 private:
  // Returns true if the node was written.
  absl::StatusOr<bool> Write(const std::string& node);

  kube::Api& api_;
  const Clock& clock_;
  const NodeCache& nodes_;
  std::map<std::string, absl::Time> again_;  // by node: not read before this time (Monotonic)
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NODES_NODE_TAINTER_H_
