#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_DECISION_EXECUTOR_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_DECISION_EXECUTOR_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/clock.h"
#include "operator/objects/verdicts.h"
#include "operator/queue/book/decision.h"
#include "operator/scheduler/bind/placement_publisher.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/gang/gang_placer.h"
#include "operator/scheduler/gang/node_eligibility.h"
#include "operator/scheduler/queue_sync/queue_sync.h"

namespace muster::control {

// Carries out the decisions of Schedule(): binds gangs, gives orders to jobs, reports refusals. The
// gate lets Schedule judge nodes one by one; where pods depend on each other, the gang is placed
// again here by all its rules. Everything in World must outlive this. Not thread-safe.
class DecisionExecutor {
 public:
  struct World {
    const Clock& clock;
    ClusterModel& model;
    const NodeEligibility& gate;
    QueueSync& book;
    Verdicts& verdicts;
    BindTracker& writes;
    PlacementPublisher& publisher;
  };

  explicit DecisionExecutor(const World& world) : world_(world) {}

  // Drops the remembered refusals: what was refused may fit now.
  void Forget() { refusals_.clear(); }
  // Returns false if the job is gone meanwhile.
  bool CarryOut(const Decision& decision);
  // Reports that others are ahead to each waiting job without a decision in this cycle that began
  // to wait after the last call, or had a decision then. The other jobs have that report already.
  // Returns the number of jobs reported to.
  int ReportOvertaken(const std::vector<Decision>& decisions);

 private:
  void Start(const Decision& decision, const QueueJobState& standing);
  void StartAsked(const Decision& decision, const QueueJobState& standing);
  void Bind(const Decision& decision, const QueueJobState& standing);
  void Grow(const Decision& decision, const QueueJobState& standing);
  void GrowAsked(const Decision& decision, const QueueJobState& standing);
  void Wait(const Decision& decision, const QueueJobState& standing);
  void RefusePlace(const Decision& decision, const QueueJobState& standing);
  void Order(const Decision& decision, const QueueJobState& standing);
  std::string NameOf(const std::string& uid) const;
  std::string SentenceOf(Decision decision) const;

  const World world_;
  std::map<std::string, PlacementRefusal> refusals_;  // by shape
  absl::flat_hash_set<std::string> decided_;  // UIDs of jobs with a decision in the last cycle
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_DECISION_EXECUTOR_H_
