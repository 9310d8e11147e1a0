#ifndef MUSTER_OPERATOR_SCHEDULER_GANG_NODE_ELIGIBILITY_H_
#define MUSTER_OPERATOR_SCHEDULER_GANG_NODE_ELIGIBILITY_H_

#include <memory>
#include <optional>
#include <string>

#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/gang_nodes.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/cluster/node_holders.h"

namespace muster::control {

// Returns how many pods like this one each node takes. If the gang has inter-pod constraints, the
// bounds are left out: they depend on where the other pods are.
std::shared_ptr<const GangNodes> NodesForGangOf(ClusterModel& model, const SchedulingPod& pod);

// Tells Schedule() which nodes the pods of a job may go to by the rules of their template
// (NodesForGangOf), and where PlaceGang would put a gang with inter-pod constraints. The model,
// which remembers the answers, and the holders must outlive this. Not thread-safe.
class NodeEligibility final : public GangGate {
 public:
  NodeEligibility(ClusterModel& model, const NodeHolders& holders)
      : model_(model), holders_(holders) {}
  // Adds one, in place of the one before.
  void AddHypotheticalGang(std::string job_uid, Gang gang);

  std::shared_ptr<const GangNodes> NodesFor(const std::string& job_uid) override;
  // The job's pods must exist, and none may have a node.
  std::optional<GangAnswer> PlacesFor(const GangQuestion& question) override;
  // Returns true if a node can be judged for one pod of the job without the others: then the gate's
  // answer for each node is enough for the gang.
  bool IsNodeLocal(const std::string& job_uid) const;

 private:
  const Gang* FindGang(const std::string& job_uid) const;
  const PodRecord* PodOf(const std::string& job_uid) const;

  ClusterModel& model_;
  const NodeHolders& holders_;
  std::string hypothetical_uid_;
  Gang hypothetical_gang_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_NODE_ELIGIBILITY_H_
