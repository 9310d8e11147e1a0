#include "operator/placement/filter/single_node_claim_policy.h"

#include <algorithm>

namespace muster::control {
namespace {

bool IsOfOneNode(const VolumeClaim& claim) {
  return !claim.access_modes.empty() &&
         std::all_of(claim.access_modes.begin(), claim.access_modes.end(),
                     [](const std::string& mode) { return mode == "ReadWriteOnce"; });
}

// The driver of its volume, or of the volume that will be made for it.
std::string DriverOf(const VolumeClaim& claim, const ClusterSnapshot& snapshot) {
  if (!claim.volume.empty()) {
    const Volume* volume = snapshot.FindVolume(claim.volume);
    return volume == nullptr ? "" : volume->csi_driver;
  }
  const StorageClass* storage_class = snapshot.FindStorageClass(claim.storage_class);
  return storage_class == nullptr ? "" : storage_class->provisioner;
}

int UsersOn(const NodeState& node, const std::string& ns, const std::string& claim) {
  return static_cast<int>(
      std::count_if(node.pods.begin(), node.pods.end(), [&](const PodPointer& pod) {
        const auto& claims = pod->wants().claims;
        return pod->ns == ns && std::any_of(claims.begin(), claims.end(), [&](const PodClaim& one) {
                 return !one.ephemeral && one.name == claim;
               });
      }));
}

}  // namespace

SingleNodeClaimPolicy::SingleNodeClaimPolicy(const SchedulingPod& pod,
                                             const ClusterSnapshot& snapshot)
    : pod_(pod), snapshot_(snapshot) {
  for (const PodClaim& wanted : pod.wants().claims) {
    const VolumeClaim* claim = wanted.ephemeral ? nullptr : snapshot.FindClaim(pod.ns, wanted.name);
    if (claim == nullptr || !IsOfOneNode(*claim)) continue;
    const int users = snapshot.ClaimUsers(pod.ns, wanted.name);
    if (users > 0) in_use_.push_back({wanted.name, DriverOf(*claim, snapshot), users});
  }
}

std::optional<NodeRefusal> SingleNodeClaimPolicy::Check(const NodeState& node) const {
  const AttachLimits* limits =
      in_use_.empty() ? nullptr : snapshot_.FindAttachLimits(node.node->name);
  if (limits == nullptr) return std::nullopt;
  for (const Shared& shared : in_use_) {
    if (limits->by_driver.count(shared.driver) == 0) continue;
    if (UsersOn(node, pod_.ns, shared.claim) == shared.users) continue;
    return NodeRefusal{FilterReason::kVolumeConflict,
                       "claim " + shared.claim + " is in use on another node"};
  }
  return std::nullopt;
}

}  // namespace muster::control
