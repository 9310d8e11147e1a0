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

// A node and the pods on it.
struct NodeState {
  std::shared_ptr<const SchedulingNode> node;
  // Pods bound here that have not ended: any scheduler's, terminating ones too.
  std::vector<PodPointer> pods;
  // Pods nominated to this node, for which room is made; held against pods of no higher priority.
  std::vector<PodPointer> nominated;
  ResourceAmounts held;
  // Allocatable less held. Negative where more is held than there is.
  ResourceAmounts free;
  std::map<HostPort, int> ports;  // how many pods have it

  int64_t free_pods() const;
};

// Every node, pod, namespace and volume that placement asks about, kept up to date object by
// object. A pod's change costs O(pods of its node); a copy costs about a thousand pointers,
// whatever the cluster's size, and shares whatever neither copy changes afterwards. Pods may come
// before their nodes. The caller keeps track of the pods that are here and of their nodes: one
// object may stand for pods that are alike in many places, so each call names the place. An object
// is for one thread, copying it included; a copy may go to any thread.
class ClusterSnapshot {
 public:
  void SetNode(std::shared_ptr<const SchedulingNode> node);
  void RemoveNode(const std::string& name);

  // Puts the pod on the node, whatever `pod->node` says: bound, or decided and not yet observed.
  void AddPod(PodPointer pod, const std::string& node);
  // Undoes AddPod with the same pointer. Ignores pods that are not there.
  void RemovePod(const PodPointer& pod, const std::string& node);
  void AddNominated(PodPointer pod, const std::string& node);
  void RemoveNominated(const PodPointer& pod, const std::string& node);
  // Puts the pod where its own fields place it. A pod that is neither bound nor nominated, or has
  // ended, holds nothing.
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

  // Null: none. The pointers are valid until the next change of this object.
  const NodeState* FindNode(const std::string& name) const;
  // The same, unchanged for as long as it is held. Every change makes another object.
  std::shared_ptr<const NodeState> ShareNode(const std::string& name) const;
  const LabelMap* FindNamespace(const std::string& name) const;
  const VolumeClaim* FindClaim(const std::string& ns, const std::string& name) const;
  const Volume* FindVolume(const std::string& name) const;
  const StorageClass* FindStorageClass(const std::string& name) const;
  const AttachLimits* FindAttachLimits(const std::string& node) const;
  const StorageDriver* FindDriver(const std::string& name) const;

  // The order has no meaning. Nodes that only pods refer to are left out.
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
  // Visits pods on nodes that have required anti-affinity: they keep others away. visit(pod, state)
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
  // The number of pods on nodes that use the claim.
  int ClaimUsers(const std::string& ns, const std::string& claim) const;

  int64_t nodes() const { return known_nodes_; }
  // Nodes that are set aside for what they report, by fault, for a metric.
  const std::map<NodeFault, int64_t>& faults() const { return faults_; }

 private:
  using Pods = std::vector<PodPointer> NodeState::*;
  // Adds the pod to a list of the node, or removes it; false if it is not there.
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
