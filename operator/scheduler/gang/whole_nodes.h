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

// The nodes that there are and those that there were within a day, each as if nothing ran on it and
// nothing kept it closed for the moment: what has no place on them fits nowhere, whoever ends.
// Answers are remembered by shape; the cluster is built anew only when one has to be found. Not
// thread-safe.
class WholeNodes {
 public:
  // A node that is gone, or was larger, counts as it was for so long. `most_gone`: of those that
  // are gone, the newest so many.
  explicit WholeNodes(absl::Duration remembered = absl::Hours(24), size_t most_gone = 10'000);

  // As ClusterModel::SetLevels.
  void SetLevels(std::optional<std::vector<std::string>> keys);
  // As seen now; null: gone. `now` is the wall clock's.
  void Put(absl::Time now, const std::string& name,
           const std::shared_ptr<const SchedulingNode>& node);
  // Forgets what was seen too long ago.
  void Forget(absl::Time now);

  // Grows when an answer may be another one.
  uint64_t version() const { return version_; }

  // What the answers about a gang of such pods are remembered by.
  static std::string ShapeOf(const GangRequest& request, const SchedulingPod& pod);
  // Whether the smallest size of a gang of such pods has no place, as far as topology and the nodes
  // themselves go: other pods and volumes are not looked at. `shape` is ShapeOf them.
  bool FitsNowhere(const std::string& shape, const GangRequest& request, const SchedulingPod& pod);

 private:
  struct Node {
    std::shared_ptr<const SchedulingNode> is;    // null: gone
    std::shared_ptr<const SchedulingNode> seen;  // that counts
    absl::Time until = absl::InfiniteFuture();   // `seen` is not what it is, and counts till then
  };
  void Count(const std::string& name, Node& node, std::shared_ptr<const SchedulingNode> as);
  void DropOldest();
  void Build();

  const absl::Duration remembered_;
  const size_t most_gone_;
  std::optional<std::vector<std::string>> levels_;
  std::map<std::string, Node> nodes_;
  std::set<std::pair<absl::Time, std::string>> ends_;  // the nodes with an `until`, by it
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
