#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_CLUSTER_SNAPSHOT_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_CLUSTER_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operator/placement/cluster/resource_amounts.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/cluster/shared_map.h"
#include "operator/placement/cluster/storage.h"

namespace muster::control {

using PodPointer = std::shared_ptr<const SchedulingPod>;

// A node and what is on it.
struct NodeState {
  std::shared_ptr<const SchedulingNode> node;
  // Bound here and not ended: any scheduler's, terminating ones too.
  std::vector<PodPointer> pods;
  // Promised this node by whoever makes room for them; held against pods of no higher priority.
  std::vector<PodPointer> nominated;
  ResourceAmounts held;
  // Allocatable less held. Negative where more is held than there is.
  ResourceAmounts free;
  std::map<HostPort, int> ports;  // how many pods have it

  int64_t free_pods() const;
};

// Every node, pod, namespace and volume that placement asks about, kept up to date object by
// object. A pod's change costs O(pods of its node); a copy costs a few hundred pointers, whatever
// the cluster's size, and shares what neither changes after. Pods may come before their nodes.
// An object is for one thread, copying it included; the copy is for any.
class ClusterSnapshot {
 public:
  void SetNode(std::shared_ptr<const SchedulingNode> node);
  void RemoveNode(const std::string& name);

  // Adds a pod, or replaces the one of this UID. One that is neither bound nor nominated, or has
  // ended, holds nothing and is forgotten.
  void SetPod(PodPointer pod);
  void RemovePod(const std::string& uid);
  // As SetPod of the pod bound to `node`: for what has been decided and not been seen yet.
  void Assume(const SchedulingPod& pod, const std::string& node);

  void SetNamespace(const std::string& name, LabelMap labels);
  void RemoveNamespace(const std::string& name);
  void SetClaim(VolumeClaim claim);
  void RemoveClaim(const std::string& ns, const std::string& name);
  void SetVolume(Volume volume);
  void RemoveVolume(const std::string& name);
  void SetStorageClass(StorageClass storage_class);
  void RemoveStorageClass(const std::string& name);
  void SetAttachLimits(AttachLimits limits);
  void RemoveAttachLimits(const std::string& node);
  void SetAttachment(VolumeAttachment attachment);
  void RemoveAttachment(const std::string& name);
  void SetDriver(StorageDriver driver);
  void RemoveDriver(const std::string& name);
  void SetCapacity(StorageCapacity capacity);
  void RemoveCapacity(const std::string& ns, const std::string& name);

  // Null: none. Pointers stay good until the next change of this object.
  const NodeState* FindNode(const std::string& name) const;
  PodPointer FindPod(const std::string& uid) const { return pods_.Find(uid); }
  const LabelMap* FindNamespace(const std::string& name) const;
  const VolumeClaim* FindClaim(const std::string& ns, const std::string& name) const;
  const Volume* FindVolume(const std::string& name) const;
  const StorageClass* FindStorageClass(const std::string& name) const;
  const AttachLimits* FindAttachLimits(const std::string& node) const;
  const StorageDriver* FindDriver(const std::string& name) const;

  // In an order without meaning. Only nodes that are there: not those only pods speak of.
  template <typename Visit>
  void ForEachNode(Visit visit) const {
    nodes_.ForEach([&](const std::string&, const NodeState& state) {
      if (state.node != nullptr) visit(state);
    });
  }
  template <typename Visit>
  void ForEachNamespace(Visit visit) const {  // visit(name, labels)
    namespaces_.ForEach(visit);
  }
  template <typename Visit>
  void ForEachVolume(Visit visit) const {
    volumes_.ForEach([&](const std::string&, const Volume& volume) { visit(volume); });
  }
  template <typename Visit>
  void ForEachAttachment(Visit visit) const {
    attachments_.ForEach([&](const std::string&, const VolumeAttachment& one) { visit(one); });
  }
  template <typename Visit>
  void ForEachCapacity(Visit visit) const {
    capacities_.ForEach([&](const std::string&, const StorageCapacity& one) { visit(one); });
  }
  // Pods on nodes that have required anti-affinity: they keep others away.
  template <typename Visit>
  void ForEachAntiAffinePod(Visit visit) const {
    anti_affine_.ForEach([&](const std::string&, const SchedulingPod& pod) { visit(pod); });
  }
  // Pods on nodes that use the claim.
  int ClaimUsers(const std::string& ns, const std::string& claim) const;

  int64_t nodes() const { return known_nodes_; }
  // Set aside for what they say of themselves, by reason: for a metric.
  const std::map<NodeFault, int64_t>& faults() const { return faults_; }

 private:
  void Count(const PodPointer& pod, int sign);
  void CountClaims(const SchedulingPod& pod, int sign);
  void CountFault(const SchedulingNode& node, int sign);

  SharedMap<NodeState, 512> nodes_;
  SharedMap<SchedulingPod, 1024> pods_;   // by UID
  SharedMap<SchedulingPod> anti_affine_;  // by UID
  SharedMap<int> claim_users_;            // by ns/name
  SharedMap<LabelMap> namespaces_;
  SharedMap<VolumeClaim> claims_;
  SharedMap<Volume> volumes_;
  SharedMap<StorageClass> classes_;
  SharedMap<AttachLimits> limits_;
  SharedMap<VolumeAttachment> attachments_;
  SharedMap<StorageDriver> drivers_;
  SharedMap<StorageCapacity> capacities_;
  int64_t known_nodes_ = 0;
  std::map<NodeFault, int64_t> faults_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_CLUSTER_SNAPSHOT_H_
