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
  // Between renewals of the Lease; the Node itself is written only when it says something else.
  absl::Duration renew_interval = absl::Seconds(10);
  absl::Duration lease_duration = absl::Seconds(40);
  // Its status is written this often all the same, as a kubelet does.
  absl::Duration status_interval = absl::Minutes(5);
};

// Makes one Node and keeps it alive: its Lease renewed, its status true, both made again when
// somebody deleted them. Not thread-safe.
class NodeKeeper {
 public:
  // `api` and `clock` must outlive it.
  NodeKeeper(LocalNode node, NodeKeeperOptions options, kube::Api& api, const Clock& clock);

  const LocalNode& node() const { return node_; }
  // What is due now; the first time everything is.
  absl::Status RunOnce();
  // Monotonic: when something is due again.
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
  Json lease_;  // as last written; null: not known
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_NODE_KEEPER_H_
