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
// object. A pod's change costs O(pods of its node); a copy costs about a thousand pointers,
// whatever the cluster's size, and shares what neither changes after. Pods may come before their
// nodes. Which pods are here is its caller's to know: pods that are alike may be one object in many
// places, which is why a place is told with each. An object is for one thread, copying it included;
// the copy is for any.
class ClusterSnapshot {
 public:
  void SetNode(std::shared_ptr<const SchedulingNode> node);
  void RemoveNode(const std::string& name);

  // On the node, whatever it says itself: bound there, or decided and not seen yet.
  void AddPod(PodPointer pod, const std::string& node);
  // Of what AddPod was given. What is not there stays so.
  void RemovePod(const PodPointer& pod, const std::string& node);
  void AddNominated(PodPointer pod, const std::string& node);
  void RemoveNominated(const PodPointer& pod, const std::string& node);
  // Where the pod says that it is. One that is neither bound nor nominated, or has ended, holds
  // nothing.
  void AddPod(PodPointer pod);

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
  // The same, kept as it is now for as long as it is held. Another object after each change.
  std::shared_ptr<const NodeState> ShareNode(const std::string& name) const;
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
  // Pods on nodes that have required anti-affinity: they keep others away. visit(pod, state)
  template <typename Visit>
  void ForEachAntiAffinePod(Visit visit) const {
    anti_affine_.ForEach([&](const std::string& node, const int&) {
      const NodeState* state = FindNode(node);
      if (state == nullptr) return;
      for (const PodPointer& pod : state->pods) {
        if (!pod->wants().anti_affinity.empty()) visit(*pod, *state);
      }
    });
  }
  // Pods on nodes that use the claim.
  int ClaimUsers(const std::string& ns, const std::string& claim) const;

  int64_t nodes() const { return known_nodes_; }
  // Set aside for what they say of themselves, by reason: for a metric.
  const std::map<NodeFault, int64_t>& faults() const { return faults_; }

 private:
  using Pods = std::vector<PodPointer> NodeState::*;
  // Puts the pod into a list of the node's, or takes it from there: false when it is not there.
  bool Move(const PodPointer& pod, const std::string& node, Pods list, int sign);
  void Set(const std::string& name, std::shared_ptr<const NodeState> state);
  void CountClaims(const SchedulingPod& pod, int sign);
  void CountIn(SharedMap<int>& counts, const std::string& key, int sign);
  void CountFault(const SchedulingNode& node, int sign);

  SharedMap<NodeState, 512> nodes_;
  SharedMap<int> anti_affine_;  // by node: pods there that keep others away
  SharedMap<int> claim_users_;  // by ns/name
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
