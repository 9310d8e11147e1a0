#include "operator/placement/filter/volume_conflict_policy.h"

#include <algorithm>
#include <string>
#include <vector>

namespace muster::control {
namespace {

bool Overlap(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& one) {
    return std::find(b.begin(), b.end(), one) != b.end();
  });
}

bool Conflict(const InlineDisk& a, const InlineDisk& b) {
  if (a.kind != b.kind || a.id != b.id) return false;
  if (a.kind == InlineDisk::Kind::kEbs) return true;
  if (a.kind == InlineDisk::Kind::kRbd && !Overlap(a.monitors, b.monitors)) return false;
  return !(a.read_only && b.read_only);
}

bool AnyConflict(const InlineDisk& disk, const SchedulingPod& other) {
  const auto& disks = other.wants().disks;
  return std::any_of(disks.begin(), disks.end(),
                     [&](const InlineDisk& one) { return Conflict(disk, one); });
}

}  // namespace

VolumeConflictPolicy::VolumeConflictPolicy(const SchedulingPod& pod,
                                           const ClusterSnapshot& snapshot)
    : pod_(pod) {
  for (const PodClaim& wanted : pod.wants().claims) {
    if (wanted.ephemeral) continue;
    const VolumeClaim* claim = snapshot.FindClaim(pod.ns, wanted.name);
    if (claim == nullptr) {
      refusal_ = {FilterReason::kVolumeConflict, "claim " + wanted.name + " does not exist"};
      return;
    }
    const auto& modes = claim->access_modes;
    if (std::find(modes.begin(), modes.end(), "ReadWriteOncePod") == modes.end()) continue;
    single_pod_claim_ = true;
    claim_in_use_ = claim_in_use_ || snapshot.ClaimUsers(pod.ns, wanted.name) > 0;
  }
  skipped_ = pod.wants().disks.empty() && !claim_in_use_;
}

std::optional<NodeRefusal> VolumeConflictPolicy::Check(const NodeState& node) const {
  if (refusal_) return refusal_;
  for (const InlineDisk& disk : pod_.wants().disks) {
    for (const PodPointer& other : node.pods) {
      if (AnyConflict(disk, *other)) {
        return NodeRefusal{FilterReason::kVolumeConflict, "disk " + disk.id + " is in use"};
      }
    }
  }
  if (!claim_in_use_) return std::nullopt;
  return NodeRefusal{FilterReason::kVolumeConflict, "a claim for one pod only is in use"};
}

bool VolumeConflictPolicy::excludes_itself() const {
  const auto& disks = pod_.wants().disks;
  return single_pod_claim_ || std::any_of(disks.begin(), disks.end(), [&](const InlineDisk& disk) {
           return AnyConflict(disk, pod_);
         });
}

}  // namespace muster::control
