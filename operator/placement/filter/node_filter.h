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

// Decides which nodes a pod may run on, by every filter rule of kube-scheduler and muster's own.
namespace muster::control {

struct FilterOptions {
  // The scheduler that may place the pod; empty: the one that its template names.
  std::string scheduler_name;
  // Alpha in Kubernetes 1.35: tolerations with the operators Gt and Lt.
  bool taint_comparison_operators = false;
  // SingleNodeClaimPolicy, a rule that kube-scheduler does not have.
  bool single_node_claims = false;
};

// One pod's filter over one snapshot. Made once for a pod and asked about every node: everything
// that does not depend on the node is computed by the constructor. Pod and snapshot must outlive it
// and stay as they are.
class NodeFilter {
 public:
  NodeFilter(const SchedulingPod& pod, const ClusterSnapshot& snapshot, FilterOptions options = {});
  ~NodeFilter();
  NodeFilter(const NodeFilter&) = delete;
  NodeFilter& operator=(const NodeFilter&) = delete;

  // Returns the first refusal; nothing: the pod fits. It must fit both with and without the pods
  // that are nominated there with no lower priority.
  std::optional<NodeRefusal> Check(const NodeState& node) const;
  // The same in two parts, for a node without nominated pods: the rules whose answer about an
  // unchanged node stays the same wherever other pods are, and the rest.
  std::optional<NodeRefusal> CheckAlone(const NodeState& node) const;
  std::optional<NodeRefusal> CheckAmongOthers(const NodeState& node) const;
  // Turns this into the filter of another pod of the gang, once this one's has been added to the
  // snapshot on `node`, and nothing else has changed. False: the two differ in more than names and
  // labels, or have volumes, so `next` needs its own filter and this one must not be used any more.
  bool GoOn(const SchedulingPod& next, const NodeState& node);
  // Returns every rule's refusal, each with its first objection.
  std::vector<NodeRefusal> Explain(const NodeState& node) const;
  // Returns how many pods like this one the node has room for at once; 0 if it is refused. Rules
  // that keep them apart there count (host ports, anti-affinity to itself, spread over hosts).
  int64_t Copies(const NodeState& node) const;
  // The same for a node that `Check` did not refuse.
  int64_t Room(const NodeState& node) const;
  // Returns true if only the node, the pods on it and those nominated there decide, as each policy
  // answers for itself: no claims, no disks under an attach limit, no affinity between pods, no
  // spread. Equal templates then get equal answers about an unchanged node.
  bool node_local() const;
  // Returns the labels whose values must be equal for pods like this one: they have to be near each
  // other, and no pod that they could be near to exists yet. Empty: none.
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
  // Returns null if no pod is nominated there that this one must give way to.
  std::unique_ptr<Crowded> Crowd(const NodeState& node) const;

  const SchedulingPod* pod_;
  const ClusterSnapshot& snapshot_;
  const FilterOptions options_;
  std::unique_ptr<Policies> policies_;
};

std::optional<NodeRefusal> Fits(const NodeState& node, const SchedulingPod& pod,
                                const ClusterSnapshot& snapshot, const FilterOptions& options = {});

// The steps that a pod's volumes need before it can be bound to the node.
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
// The same, applied to the snapshot: later pods see the volume as taken and the claim as bound. For
// a volume that has yet to be made it is not known which nodes can reach it.
VolumeNeeds AssumeVolumes(const NodeState& node, const SchedulingPod& pod,
                          ClusterSnapshot& snapshot);
// Refuses the node unless all claims of the pod are bound to volumes that the node can reach.
std::optional<NodeRefusal> CheckVolumes(const NodeState& node, const SchedulingPod& pod,
                                        const ClusterSnapshot& snapshot);

// Checks a gang's members, which are placed at once and may be in each other's way (anti-affinity
// among them, spread, one claim for all). pods[i] is to go to `nodes[i]`. Returns the first member
// that does not fit when those before it are there.
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
