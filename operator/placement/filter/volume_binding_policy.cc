#include "operator/placement/filter/volume_binding_policy.h"

#include <algorithm>
#include <string>

namespace muster::control {
namespace {

NodeRefusal Refuse(const std::string& sentence) {
  return NodeRefusal{FilterReason::kVolumeBinding, sentence};
}

bool Reaches(const Volume& volume, const SchedulingNode& node) {
  return !volume.node_affinity || MatchesAnyTerm(*volume.node_affinity, node.labels, "");
}

bool IsBoundTo(const Volume& volume, const VolumeClaim& claim) {
  if (volume.claim_name != claim.name || volume.claim_ns != claim.ns) return false;
  return volume.claim_uid.empty() || volume.claim_uid == claim.uid;
}

bool HasModes(const Volume& volume, const VolumeClaim& claim) {
  return std::all_of(claim.access_modes.begin(), claim.access_modes.end(), [&](const auto& mode) {
    const auto& has = volume.access_modes;
    return std::find(has.begin(), has.end(), mode) != has.end();
  });
}

// Returns true if the claim could have the volume, wherever that is.
bool Suits(const Volume& volume, const VolumeClaim& claim) {
  if (volume.storage_class != claim.storage_class || volume.terminating) return false;
  if (!volume.claim_name.empty() && !IsBoundTo(volume, claim)) return false;
  if (volume.capacity < claim.requested.value_or(Quantity())) return false;
  return volume.volume_mode == claim.volume_mode &&
         volume.attributes_class == claim.attributes_class;
}

}  // namespace

VolumeBindingPolicy::VolumeBindingPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot)
    : snapshot_(snapshot) {
  for (const PodClaim& wanted : pod.wants().claims) {
    const VolumeClaim* claim = snapshot.FindClaim(pod.ns, wanted.name);
    if (claim == nullptr) {
      refusal_ = Refuse("claim " + wanted.name + " does not exist");
    } else if (claim->lost) {
      refusal_ = Refuse("the volume of claim " + wanted.name + " is lost");
    } else if (claim->terminating) {
      refusal_ = Refuse("claim " + wanted.name + " is being deleted");
    } else if (wanted.ephemeral && claim->owner_uid != pod.uid) {
      refusal_ = Refuse("claim " + wanted.name + " is not the pod's");
    } else {
      refusal_ = Sort(*claim);
    }
    if (refusal_) return;
  }
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const auto* a, const auto* b) {
    return a->requested.value_or(Quantity()) < b->requested.value_or(Quantity());
  });
}

std::optional<NodeRefusal> VolumeBindingPolicy::Sort(const VolumeClaim& claim) {
  if (!claim.volume.empty() && claim.bind_completed) {
    bound_.push_back(&claim);
    return std::nullopt;
  }
  const StorageClass* storage_class =
      claim.storage_class.empty() ? nullptr : snapshot_.FindStorageClass(claim.storage_class);
  if (storage_class != nullptr && storage_class->binding == BindingMode::kUnset) {
    return Refuse("storage class " + claim.storage_class + " has no binding mode");
  }
  const bool waits =
      storage_class != nullptr && storage_class->binding == BindingMode::kWaitForFirstConsumer;
  if (!waits || !claim.volume.empty()) return Refuse("claim " + claim.name + " is not bound");
  waiting_.push_back(&claim);
  return std::nullopt;
}

std::optional<NodeRefusal> VolumeBindingPolicy::CheckBound(const SchedulingNode& node) const {
  for (const VolumeClaim* claim : bound_) {
    const Volume* volume = snapshot_.FindVolume(claim->volume);
    if (volume == nullptr) return Refuse("volume " + claim->volume + " does not exist");
    if (!Reaches(*volume, node)) {
      return Refuse("volume " + volume->name + " of claim " + claim->name + " is elsewhere");
    }
  }
  return std::nullopt;
}

const Volume* VolumeBindingPolicy::Match(const VolumeClaim& claim, const SchedulingNode& node,
                                         const Found& found) const {
  const Volume* smallest = nullptr;
  const Volume* own = nullptr;
  bool own_elsewhere = false;
  snapshot_.ForEachVolume([&](const Volume& volume) {
    const bool taken = std::any_of(found.bind.begin(), found.bind.end(),
                                   [&](const auto& one) { return one.second == &volume; });
    if (taken || !Suits(volume, claim)) return;
    const bool reaches = Reaches(volume, node);
    if (!volume.claim_name.empty()) {
      // The volume is reserved for this claim: it takes this one or none.
      own = reaches ? &volume : own;
      own_elsewhere = own_elsewhere || !reaches;
      return;
    }
    if (!volume.available || !reaches || !HasModes(volume, claim)) return;
    if (!claim.selector.absent && !claim.selector.Matches(volume.labels)) return;
    const bool less = smallest == nullptr || volume.capacity < smallest->capacity ||
                      (volume.capacity == smallest->capacity && volume.name < smallest->name);
    if (less) smallest = &volume;
  });
  if (own != nullptr) return own;
  return own_elsewhere ? nullptr : smallest;
}

bool VolumeBindingPolicy::HasCapacity(const VolumeClaim& claim, const StorageClass& storage_class,
                                      const SchedulingNode& node) const {
  const StorageDriver* driver = snapshot_.FindDriver(storage_class.provisioner);
  if (!claim.requested || driver == nullptr || !driver->counts_capacity) return true;
  const int64_t size = claim.requested->Value();
  bool found = false;
  snapshot_.ForEachCapacity([&](const StorageCapacity& capacity) {
    found = found || (capacity.storage_class == storage_class.name && capacity.largest_volume &&
                      *capacity.largest_volume >= size && capacity.nodes.Matches(node.labels));
  });
  return found;
}

std::optional<NodeRefusal> VolumeBindingPolicy::CheckProvision(const VolumeClaim& claim,
                                                               const SchedulingNode& node) const {
  const StorageClass* storage_class = snapshot_.FindStorageClass(claim.storage_class);
  if (storage_class == nullptr) {
    return Refuse("storage class " + claim.storage_class + " does not exist");
  }
  const std::string& provisioner = storage_class->provisioner;
  if (provisioner.empty() || provisioner == "kubernetes.io/no-provisioner") {
    return Refuse("no volume is free for claim " + claim.name);
  }
  const auto& topologies = storage_class->topologies;
  const bool allowed =
      !storage_class->restricts_topology ||
      std::any_of(topologies.begin(), topologies.end(), [&](const auto& term) {
        return std::all_of(term.begin(), term.end(), [&](const LabelRequirement& requirement) {
          return requirement.Matches(node.labels);
        });
      });
  if (!allowed) return Refuse("storage class " + storage_class->name + " makes no volumes there");
  if (HasCapacity(claim, *storage_class, node)) return std::nullopt;
  return Refuse("storage class " + storage_class->name + " has no room for claim " + claim.name);
}

std::optional<NodeRefusal> VolumeBindingPolicy::Find(const SchedulingNode& node,
                                                     Found& found) const {
  if (auto refusal = CheckBound(node)) return refusal;
  for (const VolumeClaim* claim : waiting_) {
    if (!claim->selected_node) continue;
    if (*claim->selected_node != node.name) {
      return Refuse("claim " + claim->name + " is being made for " + *claim->selected_node);
    }
    found.provision.push_back(claim);
  }
  for (const VolumeClaim* claim : waiting_) {
    if (claim->selected_node) continue;
    if (const Volume* volume = Match(*claim, node, found)) {
      found.bind.emplace_back(claim, volume);
    } else {
      found.provision.push_back(claim);
    }
  }
  for (const VolumeClaim* claim : found.provision) {
    if (auto refusal = CheckProvision(*claim, node)) return refusal;
  }
  return std::nullopt;
}

std::optional<NodeRefusal> VolumeBindingPolicy::Check(const NodeState& node) const {
  if (refusal_) return refusal_;
  if (bound_.empty() && waiting_.empty()) return std::nullopt;
  Found found;
  return Find(*node.node, found);
}

}  // namespace muster::control
