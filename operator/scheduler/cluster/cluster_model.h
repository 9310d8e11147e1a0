#ifndef MUSTER_OPERATOR_SCHEDULER_CLUSTER_CLUSTER_MODEL_H_
#define MUSTER_OPERATOR_SCHEDULER_CLUSTER_CLUSTER_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "operator/kube/object_meta.h"
#include "operator/objects/caches.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/filter/filter_memo.h"
#include "operator/placement/filter/node_filter.h"
#include "operator/placement/placement.h"
#include "operator/placement/ring_model.h"
#include "operator/placement/topology_labels.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/quota_amounts.h"

namespace muster::control {

inline constexpr char kSchedulerName[] = "muster";

// Returns the filter options for pods that muster places.
FilterOptions PlacedByMuster();

// Returns a node's free amounts in the tree's units. A faulty node, one with a complaint, has none.
Resources FreeOn(const NodeState& state);

// The pods of one job that muster schedules and that have neither ended nor begun to terminate.
// Keyed by worker index, then by name.
struct Gang {
  using Place = std::pair<int, std::string>;
  struct Bound {
    PodCache::Object pod;
    std::string node;
    bool confirmed = false;  // the API server answered so, or the cache shows it
  };

  kube::ObjectKey job;
  std::map<Place, PodCache::Object> unbound;
  std::map<Place, Bound> bound;
  // Grows with every change of the members.
  uint64_t version = 0;
};

// The cluster as the scheduling cycle sees it: a snapshot of all that decides where a pod may run,
// one topology tree whose free amounts follow it, and the gangs of muster's jobs. A pod's change
// costs O(pods of its node) in the snapshot and O(depth) in the tree. A pod of any scheduler counts
// on its node until it has ended or is gone; a promised pod counts from the moment of the promise.
// The tree is rebuilt only when nodes come, go, or change their labels or size. Level-triggered:
// events may be merged. A copy is an independent model and takes tens of milliseconds at 50,000
// pods. Not thread-safe.
class ClusterModel {
 public:
  // Sets the label keys of the levels, broad to narrow, as in a Kueue Topology. With an empty list
  // every node is on its own; with nullopt, the initial state, levels are found in the labels.
  void SetLevels(std::optional<std::vector<std::string>> keys);
  // Sets links by level name, in place of the score's defaults.
  void SetLinks(std::map<std::string, Link> links) { links_ = std::move(links); }
  const std::map<std::string, Link>& links() const { return links_; }

  // Take an object as the cache shows it now; null means that it is gone.
  void PutNode(const std::string& name, const NodeCache::Object& node);
  void PutPod(const kube::ObjectKey& key, const PodCache::Object& pod);

  // Namespaces and storage, which also decide where pods may run. Change them only through this
  // call, which counts as a change.
  ClusterSnapshot& Storage();

  // Promises the pod to the node, until the cache shows otherwise or the promise is taken back.
  void Promise(const PodRecord& pod, const std::string& node);
  // Notes that the API server has bound the pod to this node, perhaps not the promised one.
  void Confirm(const PodRecord& pod, const std::string& node);
  void TakeBack(const PodRecord& pod);
  // Rereads the node's free amounts at the next Tree(): someone else has charged it in the tree.
  void Recount(const std::string& node) { touched_.insert(node); }
  // Returns true if the pod is promised to a node and not yet confirmed to be bound.
  bool IsPromised(const PodRecord& pod) const;

  // Returns the pod as it counts in the snapshot, and its node; null if it counts on none.
  std::pair<PodPointer, std::string> CountedOn(const kube::ObjectKey& pod) const;

  // Brings the tree and the states up to date. The reference stays valid until the next call.
  TopologyTree& Tree();
  // Indexed like the nodes of the current tree.
  const std::vector<NodePointer>& states() const { return states_; }
  const ClusterSnapshot& snapshot() const { return snapshot_; }
  // Returns the nodes of the current tree that a pod like this one may go to, bound or not.
  FilteredNodes NodesFor(const SchedulingPod& pod);
  // The same in a hypothetical cluster whose nodes are `states`.
  FilteredNodes NodesFor(const SchedulingPod& pod, const ClusterSnapshot& snapshot,
                         const std::vector<NodePointer>& states);
  // Returns true if each node can be judged for the pod by what is on that node alone.
  bool IsNodeLocal(const SchedulingPod& pod) const;
  // Returns null if there is no such node.
  const NodeRecord* FindNode(const std::string& name) const;
  template <typename Take>
  void ForEachNode(Take take) const {
    for (const auto& [name, node] : nodes_) take(*node.record);
  }
  int nodes() const { return static_cast<int>(states_.size()); }
  // Grows when a node comes, goes, or changes what it reports to schedulers.
  uint64_t node_changes() const { return node_changes_; }
  // The kinds of GPUs that nodes have, and a counter of changes to the kind of any node.
  const GpuKindSet& gpu_kinds() const { return gpu_kinds_; }
  uint64_t gpu_kind_changes() const { return gpu_kind_changes_; }

  const std::map<std::string, Gang>& gangs() const { return gangs_; }  // by job UID
  // UIDs of jobs with pods that have no node.
  const std::set<std::string>& waiting() const { return waiting_; }
  // Grows when a pod that had no place may have one now.
  uint64_t changes() const { return changes_; }
  // Contradictions among the topology labels that the current tree was built from.
  const std::vector<TopologyFinding>& findings() const { return findings_; }

 private:
  struct Node {
    NodeCache::Object record;
    int index = -1;  // in the tree
  };
  struct Pod {
    PodCache::Object record;
    PodPointer counted;     // in the snapshot; null: nowhere
    std::string charged;    // the node that it counts on
    std::string nominated;  // or the node that it is nominated for
  };
  struct Held {
    std::string uid;
    std::string node;
    bool confirmed = false;
  };

  // `before` is null for a new node, `after` for one that is gone.
  void CountKind(const NodeRecord* before, const NodeRecord* after);
  void Discount(Pod& pod);
  void Apply(Node& node);
  void Build();
  void Settle(const kube::ObjectKey& key, Pod& pod);
  void CountConstrained(const PodRecord& pod, int sign);
  void Join(const kube::ObjectKey& key, const PodRecord& pod);
  void Leave(const PodRecord& pod);
  // Removes the gang if it has no members.
  void Drop(const std::string& uid);

  std::optional<std::vector<std::string>> levels_;
  std::map<std::string, Link> links_;
  ClusterSnapshot snapshot_;
  FilterMemo filters_;
  std::map<std::string, Node> nodes_;
  absl::flat_hash_map<kube::ObjectKey, Pod> pods_;
  std::map<kube::ObjectKey, Held> held_;
  std::map<std::string, Gang> gangs_;
  std::set<std::string> waiting_;
  std::optional<TopologyTree> tree_;
  std::vector<NodePointer> states_;
  std::set<std::string> touched_;
  std::vector<TopologyFinding> findings_;
  uint64_t changes_ = 1;
  uint64_t node_changes_ = 1;
  std::map<std::string, int> nodes_of_kind_;
  GpuKindSet gpu_kinds_;
  uint64_t gpu_kind_changes_ = 0;
  // Members without a node whose affinity or spread may be met by the arrival of another pod.
  int waiting_with_constraints_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_CLUSTER_CLUSTER_MODEL_H_
