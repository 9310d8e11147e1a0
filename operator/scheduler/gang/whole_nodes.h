#ifndef MUSTER_OPERATOR_SCHEDULER_GANG_WHOLE_NODES_H_
#define MUSTER_OPERATOR_SCHEDULER_GANG_WHOLE_NODES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/filter_memo.h"
#include "operator/placement/placement.h"
#include "operator/queue/empty_cluster.h"

namespace muster::control {

// The nodes of now and of the last day, each as if it were empty and open: without pods, cordons or
// passing taints. A gang without a place on them fits nowhere, whichever jobs end. Answers are
// remembered by shape; the cluster is rebuilt only when a new answer is needed. Not thread-safe.
class WholeNodes {
 public:
  // For the duration `remembered`, a deleted node still counts, and a node that has become smaller
  // counts with its former size. At most the newest `most_gone` such nodes count.
  explicit WholeNodes(absl::Duration remembered = absl::Hours(24), size_t most_gone = 10'000);

  // See ClusterModel::SetLevels.
  void SetLevels(std::optional<std::vector<std::string>> keys);
  // Takes a node as it is now; null means that it is gone. `now` is the wall clock's.
  void Put(absl::Time now, const std::string& name,
           const std::shared_ptr<const SchedulingNode>& node);
  // Drops deleted nodes and former sizes whose time is over.
  void Forget(absl::Time now);

  // Grows when an answer may have changed.
  uint64_t version() const { return version_; }

  // Returns the key by which answers about a gang of such pods are remembered.
  static std::string ShapeOf(const GangRequest& request, const SchedulingPod& pod);
  // Returns true if even the smallest size of a gang of such pods has no place by topology and the
  // nodes themselves; other pods and volumes are ignored. `shape` is their ShapeOf.
  bool FitsNowhere(const std::string& shape, const GangRequest& request, const SchedulingPod& pod);

 private:
  struct Node {
    std::shared_ptr<const SchedulingNode> is;    // null: gone
    std::shared_ptr<const SchedulingNode> seen;  // the version that counts
    absl::Time until = absl::InfiniteFuture();  // until when a `seen` that differs from `is` counts
  };
  void Count(const std::string& name, Node& node, std::shared_ptr<const SchedulingNode> as);
  void DropOldest();
  void Build();

  const absl::Duration remembered_;
  const size_t most_gone_;
  std::optional<std::vector<std::string>> levels_;
  std::map<std::string, Node> nodes_;
  std::set<std::pair<absl::Time, std::string>> ends_;  // nodes with a finite `until`, sorted by it
  ClusterSnapshot snapshot_;
  FilterMemo filters_;
  std::optional<EmptyCluster> cluster_;
  std::vector<NodePointer> states_;  // by index of its tree
  absl::flat_hash_set<std::string> fit_;
  absl::flat_hash_set<std::string> fit_nowhere_;
  uint64_t version_ = 1;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_WHOLE_NODES_H_
