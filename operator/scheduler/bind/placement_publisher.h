#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_PLACEMENT_PUBLISHER_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_PLACEMENT_PUBLISHER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "operator/core/state/view.h"
#include "operator/objects/verdicts.h"
#include "operator/placement/placement.h"
#include "operator/queue/book/decision.h"
#include "operator/scheduler/bind/bind_tracker.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/gang/gang_placer.h"
#include "operator/scheduler/queue_sync/queue_job_state.h"

namespace muster::control {

// Returns the newest pod of each worker in `nodes`, with its node. Each of them must have a pod.
std::vector<BindTracker::Member> MembersOf(const Gang& gang,
                                           const std::map<int, std::string>& nodes);

// Carries out the outcome of placing a gang: binds it, or writes the refusal to all its pods, and
// reports either to its controller. The references must outlive this. Not thread-safe.
class PlacementPublisher {
 public:
  // Returns what is wrong with a priority class of that name, or nothing.
  using Complaint = std::function<std::string(const std::string& priority_class)>;
  PlacementPublisher(const Clock& clock, const ClusterModel& model, Verdicts& verdicts,
                     BindTracker& writes, Complaint complaint)
      : clock_(clock),
        model_(model),
        verdicts_(verdicts),
        writes_(writes),
        complaint_(std::move(complaint)) {}

  // The job of `standing` must exist; for Refuse, its gang too.
  void Bind(const QueueJobState& standing, const std::vector<BindTracker::Member>& members,
            const Placement& placement);
  void Refuse(const QueueJobState& standing, const PlacementRefusal& no);
  void Publish(const QueueJobState& standing, PlacementView verdict);
  // Reports that the job waits for its queue; the rest of `verdict` is kept.
  void PublishQueued(const QueueJobState& standing, ScheduleReason reason, std::string sentence,
                     PlacementView verdict = {});

 private:
  const Clock& clock_;
  const ClusterModel& model_;
  Verdicts& verdicts_;
  BindTracker& writes_;
  const Complaint complaint_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_PLACEMENT_PUBLISHER_H_
