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
#include "operator/queue/quota_amounts.h"

namespace muster::control {

inline constexpr char kSchedulerName[] = "muster";

// Who places pods here, in a filter's terms.
FilterOptions PlacedByMuster();

// What is free on a node as the tree counts it; nothing on one that lies.
Resources FreeOn(const NodeState& state);

// The pods of one job that take part: not ended, not on their way out. By worker index, then name.
struct Gang {
  using Place = std::pair<int, std::string>;
  struct Bound {
    PodCache::Object pod;
    std::string node;
    bool confirmed = false;  // the API server said so, or the cache shows it
  };

  kube::ObjectKey job;
  std::map<Place, PodCache::Object> unbound;
  std::map<Place, Bound> bound;
  // Grows with every change of the members.
  uint64_t version = 0;
};

// The cluster as the scheduling cycle sees it: a snapshot of all that decides where a pod may run,
// one topology tree whose free amounts follow it, and the gangs of our jobs. A pod's change costs
// O(pods of its node) in the snapshot and O(depth) in the tree. Every pod counts on its node,
// whoever made it, until it has ended or is gone; what was promised counts from the moment of the
// promise. The tree is built anew only when nodes come, go, or change their labels or size.
// Level-triggered: events may be merged. A copy, tens of milliseconds at 50,000 pods, is a model of
// its own. Not thread-safe.
class ClusterModel {
 public:
  // Level keys, broad to narrow, as in a Kueue Topology; none of them: every node is for itself.
  // Nullopt, as at first: levels are found in the labels.
  void SetLevels(std::optional<std::vector<std::string>> keys);
  // Of levels, by name, in place of the default ones of the score.
  void SetLinks(std::map<std::string, Link> links) { links_ = std::move(links); }
  const std::map<std::string, Link>& links() const { return links_; }

  // As the cache shows them now; null: gone.
  void PutNode(const std::string& name, const NodeCache::Object& node);
  void PutPod(const kube::ObjectKey& key, const PodCache::Object& pod);

  // What else decides where pods may run: namespaces and storage. To be changed only so.
  ClusterSnapshot& Storage();

  // The pod is promised to the node, until the cache says otherwise or the promise is taken back.
  void Promise(const PodRecord& pod, const std::string& node);
  // The API server says that it is bound, to whatever node.
  void Confirm(const PodRecord& pod, const std::string& node);
  void TakeBack(const PodRecord& pod);
  // Somebody else has charged the node in the tree: what is free there is read anew.
  void Recount(const std::string& node) { touched_.insert(node); }
  // And nothing is known about it yet.
  bool IsPromised(const PodRecord& pod) const;

  // The pod as it counts in the snapshot, and on which node; null: on none.
  std::pair<PodPointer, std::string> CountedOn(const kube::ObjectKey& pod) const;

  // Brings the tree and the states up to date. The reference stays good until the next call.
  TopologyTree& Tree();
  // By index of the tree as it stands.
  const std::vector<NodePointer>& states() const { return states_; }
  const ClusterSnapshot& snapshot() const { return snapshot_; }
  // Which nodes of the tree as it stands a pod like this may go to, whether this one is bound or
  // not.
  FilteredNodes NodesFor(const SchedulingPod& pod);
  // The same in a cluster that is only thought of; `states` are its nodes.
  FilteredNodes NodesFor(const SchedulingPod& pod, const ClusterSnapshot& snapshot,
                         const std::vector<NodePointer>& states);
  // Whether each node can be judged for the pod by what is on that node alone.
  bool IsOfNodeAlone(const SchedulingPod& pod) const;
  // Node of the tree's index.
  const NodeRecord* FindNode(const std::string& name) const;
  template <typename Take>
  void ForEachNode(Take take) const {
    for (const auto& [name, node] : nodes_) take(*node.record);
  }
  int nodes() const { return static_cast<int>(states_.size()); }
  // Grows when a node comes, goes, or says something else of itself.
  uint64_t node_changes() const { return node_changes_; }
  // The kinds of GPUs that nodes have, and a number that grows when a node's kind changes.
  const GpuKindSet& gpu_kinds() const { return gpu_kinds_; }
  uint64_t gpu_kind_changes() const { return gpu_kind_changes_; }

  const std::map<std::string, Gang>& gangs() const { return gangs_; }  // by job UID
  // Jobs with pods that have no node.
  const std::set<std::string>& waiting() const { return waiting_; }
  // Grows when something may have become placeable that was not before.
  uint64_t changes() const { return changes_; }
  // Labels that cannot all be true, of the tree as it stands.
  const std::vector<TopologyFinding>& findings() const { return findings_; }

 private:
  struct Node {
    NodeCache::Object record;
    int index = -1;  // in the tree
  };
  struct Pod {
    PodCache::Object record;
    PodPointer counted;     // in the snapshot; null: nowhere
    std::string charged;    // the node it counts on
    std::string nominated;  // or where it is awaited
  };
  struct Held {
    std::string uid;
    std::string node;
    bool confirmed = false;
  };

  // null: it has none.
  void CountKind(const NodeRecord* before, const NodeRecord* after);
  void Discount(Pod& pod);
  void Apply(Node& node);
  void Build();
  void Settle(const kube::ObjectKey& key, Pod& pod);
  void CountSocial(const PodRecord& pod, int sign);
  void Join(const kube::ObjectKey& key, const PodRecord& pod);
  void Leave(const PodRecord& pod);
  // A gang without members.
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
  // Members without a node for whom a pod that comes may be what they wait for.
  int social_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_CLUSTER_CLUSTER_MODEL_H_
