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

// How many pods like this one each node takes. Of a social gang, whose pods are bound by each
// other, the bounds are left out: how many a node takes then depends on where the others are.
std::shared_ptr<const GangNodes> NodesForGangOf(ClusterModel& model, const SchedulingPod& pod);

// Which nodes the pods of a job may go to, by the rules that their template is under
// (NodesForGangOf), and of a social gang, where PlaceGang would put it. The model, which remembers
// the answers, and the holders must outlive it. Not thread-safe.
class PodGate final : public GangGate {
 public:
  PodGate(ClusterModel& model, const NodeHolders& holders) : model_(model), holders_(holders) {}
  // A gang besides that nobody has submitted.
  void Think(std::string job_uid, Gang gang);

  std::shared_ptr<const GangNodes> NodesFor(const std::string& job_uid) override;
  // The job's pods are there, and none of them has a node.
  std::optional<GangAnswer> PlacesFor(const GangQuestion& question) override;
  // Whether a node can be judged for one pod of the job without the others: then what the gate says
  // of each is enough for the gang.
  bool IsOfNodeAlone(const std::string& job_uid) const;

 private:
  const Gang* FindGang(const std::string& job_uid) const;
  const PodRecord* PodOf(const std::string& job_uid) const;

  ClusterModel& model_;
  const NodeHolders& holders_;
  std::string thought_of_;
  Gang thought_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_NODE_ELIGIBILITY_H_
