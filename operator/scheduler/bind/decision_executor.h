#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_DECISION_EXECUTOR_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_DECISION_EXECUTOR_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/clock.h"
#include "operator/objects/verdicts.h"
#include "operator/queue/decision.h"
#include "operator/scheduler/bind/placement_publisher.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/gang/gang_placer.h"
#include "operator/scheduler/gang/node_eligibility.h"
#include "operator/scheduler/queue_sync/queue_sync.h"

namespace muster::control {

// Carries out what Schedule() has decided: gangs are bound, orders given to jobs, refusals told.
// The gate lets Schedule judge nodes one by one; where pods look at each other, the gang is placed
// again here by all its rules. What it refers to must outlive it. Not thread-safe.
class DecisionCarrier {
 public:
  struct World {
    const Clock& clock;
    ClusterModel& model;
    const PodGate& gate;
    JobBook& book;
    Verdicts& verdicts;
    GangWrites& writes;
    GangOutcomes& outcomes;
  };

  explicit DecisionCarrier(const World& world) : world_(world) {}

  // What was refused may fit now.
  void Forget() { told_.clear(); }
  // False: the job is gone meanwhile.
  bool CarryOut(const Decision& decision);
  // To jobs that came to wait since the last time, or that were looked at then, and are not among
  // the decisions now: that others are ahead. The rest know. Returns how many were told.
  int TellBehind(const std::vector<Decision>& decisions);

 private:
  void Start(const Decision& decision, const JobStanding& standing);
  void StartAsked(const Decision& decision, const JobStanding& standing);
  void Bind(const Decision& decision, const JobStanding& standing);
  void Grow(const Decision& decision, const JobStanding& standing);
  void GrowAsked(const Decision& decision, const JobStanding& standing);
  void Wait(const Decision& decision, const JobStanding& standing);
  void TellNoPlace(const Decision& decision, const JobStanding& standing);
  void Order(const Decision& decision, const JobStanding& standing);
  std::string NameOf(const std::string& uid) const;
  std::string SentenceOf(Decision decision) const;

  const World world_;
  std::map<std::string, PlacementRefusal> told_;  // by shape
  absl::flat_hash_set<std::string> decided_;      // by job UID, the last time
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_DECISION_EXECUTOR_H_
