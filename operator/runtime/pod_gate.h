#ifndef MUSTER_OPERATOR_RUNTIME_POD_GATE_H_
#define MUSTER_OPERATOR_RUNTIME_POD_GATE_H_

#include <memory>
#include <string>

#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/gang_nodes.h"
#include "operator/runtime/cluster_model.h"

namespace muster::control {

// How many pods like this one each node takes. Where pods of one gang are bound by each other the
// bounds are left out: how many a node takes then depends on where the others are.
std::shared_ptr<const GangNodes> NodesForGangOf(ClusterModel& model, const SchedulingPod& pod);

// Which nodes the pods of a job may go to, by the rules that their template is under
// (NodesForGangOf): where the gate does not say how many a node takes, who starts the gang has to
// ask PlaceGang. The model, which remembers the answers, must outlive it. Not thread-safe.
class PodGate final : public GangGate {
 public:
  explicit PodGate(ClusterModel& model) : model_(model) {}

  std::shared_ptr<const GangNodes> NodesFor(const std::string& job_uid) override;
  // Whether a node can be judged for one pod of the job without the others: then what the gate says
  // of each is enough for the gang.
  bool IsOfNodeAlone(const std::string& job_uid) const;

 private:
  const PodRecord* PodOf(const std::string& job_uid) const;

  ClusterModel& model_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_POD_GATE_H_
