#ifndef MUSTER_OPERATOR_LOCAL_NODE_KEEPER_H_
#define MUSTER_OPERATOR_LOCAL_NODE_KEEPER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/local/node_object.h"

namespace muster::control {

struct NodeKeeperOptions {
  // The time between renewals of the Lease. The Node itself is written only when its status
  // differs.
  absl::Duration renew_interval = absl::Seconds(10);
  absl::Duration lease_duration = absl::Seconds(40);
  // The Node's status is written at least this often, as by a kubelet.
  absl::Duration status_interval = absl::Minutes(5);
};

// Creates one Node and keeps it alive: renews its Lease, keeps its status current, and creates both
// again if they were deleted. Not thread-safe.
class NodeKeeper {
 public:
  // `api` and `clock` must outlive it.
  NodeKeeper(LocalNode node, NodeKeeperOptions options, kube::Api& api, const Clock& clock);

  const LocalNode& node() const { return node_; }
  // Does the work that is due; in the first call that is all of it.
  absl::Status RunOnce();
  // Returns when work is due again (Monotonic).
  absl::Time due() const { return due_; }

 private:
  absl::StatusOr<Json> ReadOrCreate();
  absl::Status KeepNode();
  absl::Status KeepLease();

  const LocalNode node_;
  const NodeKeeperOptions options_;
  kube::Api& api_;
  const Clock& clock_;
  absl::Time due_ = absl::InfinitePast();
  absl::Time status_due_ = absl::InfinitePast();
  std::string uid_;
  Json lease_;  // as last written; null: unknown
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_NODE_KEEPER_H_
