#include "operator/local/node_keeper.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

constexpr absl::Duration kRetry = absl::Seconds(1);

}  // namespace

NodeKeeper::NodeKeeper(LocalNode node, NodeKeeperOptions options, kube::Api& api,
                       const Clock& clock)
    : node_(std::move(node)), options_(options), api_(api), clock_(clock) {}

absl::Status NodeKeeper::RunOnce() {
  const absl::Time now = clock_.Monotonic();
  if (now < due_) return absl::OkStatus();
  due_ = now + std::min(kRetry, options_.renew_interval);
  absl::Status kept = KeepNode();
  // Another client wrote between the read and the write. If it added a taint, the server sees this
  // write as an attempt to change it, which a node may not.
  if (absl::IsAborted(kept) || absl::IsPermissionDenied(kept)) kept = KeepNode();
  if (uid_.empty()) return kept;
  absl::Status renewed = KeepLease();
  // The Lease was deleted, or written by another client: read it again.
  if (absl::IsAborted(renewed) || absl::IsNotFound(renewed)) renewed = KeepLease();
  kept.Update(renewed);
  MUSTER_RETURN_IF_ERROR(kept);
  due_ = now + options_.renew_interval;
  return absl::OkStatus();
}

absl::StatusOr<Json> NodeKeeper::ReadOrCreate() {
  absl::StatusOr<Json> stored = api_.Get(kube::kNodes, {"", node_.name});
  if (!absl::IsNotFound(stored.status())) return stored;
  Json node = NewNode(node_);
  node["status"] = NodeStatusOf(node_, node, clock_.Wall());
  stored = api_.Create(kube::kNodes, node);
  if (absl::IsAlreadyExists(stored.status())) stored = api_.Get(kube::kNodes, {"", node_.name});
  return stored;
}

absl::Status NodeKeeper::KeepNode() {
  MUSTER_ASSIGN_OR_RETURN(Json stored, ReadOrCreate());
  if (uid_ != kube::UidOf(stored)) lease_ = nullptr;  // its owner is gone
  uid_ = kube::UidOf(stored);
  const absl::Time now = clock_.Monotonic();
  if (now < status_due_ && !NodeStatusDiffers(node_, stored)) return absl::OkStatus();
  stored["status"] = NodeStatusOf(node_, stored, clock_.Wall());
  const absl::Status written = api_.UpdateStatus(kube::kNodes, stored).status();
  if (written.ok()) status_due_ = now + options_.status_interval;
  return written;
}

absl::Status NodeKeeper::KeepLease() {
  const kube::ObjectKey key{kNodeLeaseNamespace, node_.name};
  if (lease_.is_null()) {
    absl::StatusOr<Json> stored = api_.Get(kube::kLeases, key);
    if (stored.ok()) {
      lease_ = *std::move(stored);
    } else if (!absl::IsNotFound(stored.status())) {
      return stored.status();
    }
  }
  const Json wanted = RenewedLease(node_, uid_, lease_, options_.lease_duration, clock_.Wall());
  absl::StatusOr<Json> written =
      lease_.is_null() ? api_.Create(kube::kLeases, wanted) : api_.Update(kube::kLeases, wanted);
  // After any error it is read again before the next attempt.
  lease_ = written.ok() ? *std::move(written) : Json();
  return written.status();
}

}  // namespace muster::control
