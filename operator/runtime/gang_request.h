#ifndef MUSTER_OPERATOR_RUNTIME_GANG_REQUEST_H_
#define MUSTER_OPERATOR_RUNTIME_GANG_REQUEST_H_

#include <functional>
#include <string>
#include <vector>

#include "operator/placement/complete_gang.h"
#include "operator/placement/topology_tree.h"
#include "operator/runtime/caches.h"
#include "operator/runtime/cluster_model.h"

namespace muster::control {

// What placement is asked about a job's pods; `spec` is the job's with its defaults.
PartialGang MakeGangRequest(const TrainingJob& job, const v1alpha1::TrainingJobSpec& spec,
                            const Gang& gang);

// Two gangs of equal shape fit or do not fit alike; empty for one that has nodes already.
std::string ShapeOf(const PartialGang& gang, const PodRecord& pod);

// Takes the nodes that a pod may not go to out of a tree, and puts them back.
class NodeGate {
 public:
  using NodeAt = std::function<const NodeRecord&(int index)>;
  NodeGate(TopologyTree& tree, const NodeAt& node_at, const PodRecord& pod);
  ~NodeGate() { Open(); }
  NodeGate(const NodeGate&) = delete;
  NodeGate& operator=(const NodeGate&) = delete;

  void Open();
  // Nodes that are not for this pod, by why: "2 not ready or cordoned, 1 with taints that ...".
  // Empty: none.
  std::string LeftOut() const;

 private:
  TopologyTree& tree_;
  std::vector<int> closed_;
  int unschedulable_ = 0;
  int unselected_ = 0;
  int tainted_ = 0;
};

// The refusal with what would help, and with the nodes that were not looked at.
std::string FullSentence(const Unplaceable& no, const PartialGang& gang, const NodeGate& gate);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_GANG_REQUEST_H_
