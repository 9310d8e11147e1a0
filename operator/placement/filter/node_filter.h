#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_FILTER_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_FILTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/refusal.h"

// Which nodes a pod may run on: every rule that kube-scheduler's filter plugins have, and ours.
namespace muster::control {

struct FilterOptions {
  // Who may place the pod; empty: whoever its template names.
  std::string scheduler_name;
  // Alpha in Kubernetes 1.35: tolerations with the operators Gt and Lt.
  bool taint_comparison_operators = false;
  // A rule that kube-scheduler has not: SingleNodeClaimPolicy.
  bool single_node_claims = false;
};

// One pod's filter over one snapshot. Made once for a pod, asked for every node: what does not
// depend on the node is computed when it is made. Pod and snapshot must outlive it and stay as they
// are.
class NodeFilter {
 public:
  NodeFilter(const SchedulingPod& pod, const ClusterSnapshot& snapshot, FilterOptions options = {});
  ~NodeFilter();
  NodeFilter(const NodeFilter&) = delete;
  NodeFilter& operator=(const NodeFilter&) = delete;

  // The first rule that refuses the node; nothing: the pod fits. A pod that is nominated there with
  // no lower priority counts as if it ran, and as if it did not: both must do.
  std::optional<NodeRefusal> Check(const NodeState& node) const;
  // The same in two parts, where nobody is nominated: what of an unchanged node stays the same
  // wherever other pods are, and then what does not.
  std::optional<NodeRefusal> CheckAlone(const NodeState& node) const;
  std::optional<NodeRefusal> CheckAmongOthers(const NodeState& node) const;
  // The filter of another pod of the gang, for when this one's has been added to the snapshot, on
  // `node`, and nothing else. False: the two differ in more than names and labels, or have volumes,
  // so `next` needs a filter of its own; this one is of no use any more.
  bool GoOn(const SchedulingPod& next, const NodeState& node);
  // Every rule that refuses it, each with its first objection.
  std::vector<NodeRefusal> Explain(const NodeState& node) const;
  // How many pods like this one the node has room for at once; 0 when it is refused. What keeps
  // them apart on one node counts (host ports, anti-affinity to itself, spread over hosts).
  int64_t Copies(const NodeState& node) const;
  // The same for a node that `Check` has not refused.
  int64_t Room(const NodeState& node) const;
  // Nothing but the node itself, the pods on it and those nominated there decide about a node, as
  // each policy says of itself: no claims, no disks that count against an attach limit, no affinity
  // of pods to each other, no spread. Then equal templates get equal answers of an unchanged node.
  bool of_node_alone() const;
  // Labels by whose values pods like this one have to be together: they want to be near each other,
  // and none is there yet that they could be near to. Empty: none.
  std::vector<std::string> together_by() const;

 private:
  struct Policies;
  struct Crowded;
  struct Answers;
  bool AskAlone(const NodeState& state, const Policies& policies, const Policies& skipped,
                Answers& answers) const;
  bool AskAmongOthers(const NodeState& state, const Policies& policies, const Policies& skipped,
                      Answers& answers) const;
  std::vector<NodeRefusal> Ask(const NodeState& state, const Policies& policies, bool all,
                               const Policies& skipped) const;
  std::vector<NodeRefusal> CheckAll(const NodeState& node, bool all) const;
  // Null: nobody is nominated there whom the pod has to give way to.
  std::unique_ptr<Crowded> Crowd(const NodeState& node) const;

  const SchedulingPod* pod_;
  const ClusterSnapshot& snapshot_;
  const FilterOptions options_;
  std::unique_ptr<Policies> policies_;
};

std::optional<NodeRefusal> Fits(const NodeState& node, const SchedulingPod& pod,
                                const ClusterSnapshot& snapshot, const FilterOptions& options = {});

// What must happen to a pod's volumes before it can be bound to the node.
struct VolumeNeeds {
  // Claims ("name", of the pod's namespace) that wait for their first consumer: annotate each with
  // volume.kubernetes.io/selected-node and wait until it is bound.
  std::vector<std::string> select_node;
  // Volumes that exist and match: set the volume's claimRef and wait.
  struct Prebind {
    std::string claim;
    std::string volume;
  };
  std::vector<Prebind> prebind;

  bool none() const { return select_node.empty() && prebind.empty(); }
};
VolumeNeeds VolumeNeedsOn(const NodeState& node, const SchedulingPod& pod,
                          const ClusterSnapshot& snapshot);
// The same, and done in the snapshot: later pods see which volume is taken, which claim has it. Of
// a volume that is still to be made nobody knows yet which nodes can reach it.
VolumeNeeds AssumeVolumes(const NodeState& node, const SchedulingPod& pod,
                          ClusterSnapshot& snapshot);
// Whether all its claims are bound, to volumes that the node can reach.
std::optional<NodeRefusal> CheckVolumes(const NodeState& node, const SchedulingPod& pod,
                                        const ClusterSnapshot& snapshot);

// A gang's members are placed at once and may be in each other's way (anti-affinity among them,
// spread, one claim for all). `nodes[i]` is where pods[i] is to go. The first member that does not
// fit when those before it are there.
struct GangRefusal {
  size_t member = 0;
  NodeRefusal refusal;
};
std::optional<GangRefusal> CheckGang(const std::vector<PodPointer>& pods,
                                     const std::vector<std::string>& nodes,
                                     const ClusterSnapshot& snapshot,
                                     const FilterOptions& options = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_NODE_FILTER_H_
