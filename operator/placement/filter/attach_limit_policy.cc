#include "operator/placement/filter/attach_limit_policy.h"

#include <algorithm>
#include <cstdint>

namespace muster::control {
namespace {

// Finds the CSI driver that replaced a provisioner built into Kubernetes. Null: it is not built in.
// A null driver: it was not replaced on every node.
const char* const* FindBuiltIn(const std::string& provisioner) {
  struct Entry {
    const char* name;
    const char* driver;
  };
  static constexpr Entry kBuiltIn[] = {
      {"kubernetes.io/aws-ebs", "ebs.csi.aws.com"},
      {"kubernetes.io/gce-pd", "pd.csi.storage.gke.io"},
      {"kubernetes.io/azure-disk", "disk.csi.azure.com"},
      {"kubernetes.io/cinder", "cinder.csi.openstack.org"},
      {"kubernetes.io/azure-file", nullptr},
      {"kubernetes.io/vsphere-volume", nullptr},
      {"kubernetes.io/portworx-volume", nullptr},
  };
  for (const Entry& entry : kBuiltIn) {
    if (provisioner == entry.name) return &entry.driver;
  }
  return nullptr;
}

// The CSI driver that now attaches a disk named in a pod itself; null if none does.
const char* InlineDriver(const InlineDisk& disk) {
  if (disk.kind == InlineDisk::Kind::kEbs) return "ebs.csi.aws.com";
  if (disk.kind == InlineDisk::Kind::kGce) return "pd.csi.storage.gke.io";
  return nullptr;
}

// "vol-1" of "aws://zone/vol-1".
std::string HandleOf(const InlineDisk& disk) { return disk.id.substr(disk.id.rfind('/') + 1); }

}  // namespace

AttachLimitPolicy::AttachLimitPolicy(const SchedulingPod& pod, const ClusterSnapshot& snapshot)
    : pod_(pod), snapshot_(snapshot) {
  for (const PodClaim& wanted : pod.wants().claims) {
    const VolumeClaim* claim = snapshot.FindClaim(pod.ns, wanted.name);
    if (claim == nullptr) {
      refusal_ = {FilterReason::kAttachLimit, "claim " + wanted.name + " does not exist"};
      return;
    }
    if (wanted.ephemeral && claim->owner_uid != pod.uid) {
      refusal_ = {FilterReason::kAttachLimit, "claim " + wanted.name + " is not the pod's"};
      return;
    }
  }
  if (!attaches()) return;
  snapshot.ForEachAttachment([&](const VolumeAttachment& attachment) {
    const Volume* volume = snapshot.FindVolume(attachment.volume);
    if (attachment.attacher.empty() || volume == nullptr || volume->csi_driver.empty()) return;
    const std::string name = attachment.attacher + "/" + volume->csi_handle;
    attachments_[attachment.node][name] = attachment.attacher;
  });
}

// Attachments and limits are recorded in other objects than the node and its pods.
bool AttachLimitPolicy::node_local() const {
  const auto& disks = pod_.wants().disks;
  return pod_.wants().claims.empty() &&
         std::all_of(disks.begin(), disks.end(),
                     [](const InlineDisk& disk) { return InlineDriver(disk) == nullptr; });
}

bool AttachLimitPolicy::attaches() const {
  return !pod_.wants().claims.empty() || !pod_.wants().disks.empty();
}

std::optional<std::pair<std::string, std::string>> AttachLimitPolicy::DriverOf(
    const VolumeClaim& claim, bool has_csi_node) const {
  const Volume* volume = claim.volume.empty() ? nullptr : snapshot_.FindVolume(claim.volume);
  if (volume != nullptr) {
    if (volume->csi_driver.empty() || volume->csi_handle.empty()) return std::nullopt;
    return std::pair(volume->csi_driver, volume->csi_driver + "/" + volume->csi_handle);
  }
  const StorageClass* storage_class =
      claim.storage_class.empty() ? nullptr : snapshot_.FindStorageClass(claim.storage_class);
  if (storage_class == nullptr) return std::nullopt;
  std::string driver = storage_class->provisioner;
  if (const char* const* built_in = FindBuiltIn(driver)) {
    if (!has_csi_node || *built_in == nullptr) return std::nullopt;
    driver = *built_in;
  }
  if (driver.empty()) return std::nullopt;
  // The volume has yet to be made: no other volume has this name.
  return std::pair(driver, driver + "/claim of " + claim.ns + "/" + claim.name);
}

bool AttachLimitPolicy::Collect(const SchedulingPod& pod, bool has_csi_node,
                                Volumes& volumes) const {
  for (const PodClaim& used : pod.wants().claims) {
    const VolumeClaim* claim = snapshot_.FindClaim(pod.ns, used.name);
    if (claim == nullptr) continue;
    if (used.ephemeral && claim->owner_uid != pod.uid) return false;
    if (const auto volume = DriverOf(*claim, has_csi_node)) {
      volumes[volume->second] = volume->first;
    }
  }
  for (const InlineDisk& disk : pod.wants().disks) {
    const char* driver = has_csi_node ? InlineDriver(disk) : nullptr;
    if (driver != nullptr) volumes[std::string(driver) + "/" + HandleOf(disk)] = driver;
  }
  return true;
}

std::optional<NodeRefusal> AttachLimitPolicy::Check(const NodeState& node) const {
  if (refusal_) return refusal_;
  if (!attaches()) return std::nullopt;
  const AttachLimits* limits = snapshot_.FindAttachLimits(node.node->name);
  Volumes wanted;
  Collect(pod_, limits != nullptr, wanted);
  if (wanted.empty() || limits == nullptr || limits->by_driver.empty()) return std::nullopt;
  Volumes attached;
  for (const PodPointer& other : node.pods) {
    if (!Collect(*other, true, attached)) {
      return NodeRefusal{FilterReason::kAttachLimit,
                         "a claim of " + other->name + " is not the pod's"};
    }
  }
  std::map<std::string, int64_t> there;
  for (const auto& [name, driver] : attached) {
    wanted.erase(name);
    ++there[driver];
  }
  if (const auto held = attachments_.find(node.node->name); held != attachments_.end()) {
    for (const auto& [name, driver] : held->second) {
      if (attached.count(name) == 0) ++there[driver];
    }
  }
  std::map<std::string, int64_t> more;
  for (const auto& [name, driver] : wanted) ++more[driver];
  for (const auto& [driver, count] : more) {
    const auto limit = limits->by_driver.find(driver);
    if (limit == limits->by_driver.end() || there[driver] + count <= limit->second) continue;
    return NodeRefusal{FilterReason::kAttachLimit, driver, count,
                       std::max<int64_t>(limit->second - there[driver], 0), limit->second};
  }
  return std::nullopt;
}

}  // namespace muster::control
