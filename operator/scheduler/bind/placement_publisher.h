#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_PLACEMENT_PUBLISHER_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_PLACEMENT_PUBLISHER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "operator/core/view.h"
#include "operator/objects/verdicts.h"
#include "operator/placement/placement.h"
#include "operator/queue/decision.h"
#include "operator/scheduler/bind/bind_tracker.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/gang/gang_placer.h"
#include "operator/scheduler/queue_sync/queue_job_state.h"

namespace muster::control {

// The newest pod of each worker that is named, with the node it is to have. Each has one.
std::vector<GangWrites::Member> MembersOf(const Gang& gang,
                                          const std::map<int, std::string>& nodes);

// What comes of a gang that was placed or was not: it is bound, or refused on all its pods, and its
// controller is told. What it refers to must outlive it. Not thread-safe.
class GangOutcomes {
 public:
  // `complaint` says what is wrong with a priority class of that name, empty: nothing.
  using Complaint = std::function<std::string(const std::string& priority_class)>;
  GangOutcomes(const Clock& clock, const ClusterModel& model, Verdicts& verdicts,
               GangWrites& writes, Complaint complaint)
      : clock_(clock),
        model_(model),
        verdicts_(verdicts),
        writes_(writes),
        complaint_(std::move(complaint)) {}

  // The job of a standing must be there; the gang of one that is refused, too.
  void Bind(const JobStanding& standing, const std::vector<GangWrites::Member>& members,
            const Placement& placement);
  void Refuse(const JobStanding& standing, const PlacementRefusal& no);
  void Tell(const JobStanding& standing, PlacementView verdict);
  // It waits for its queue; the rest of the verdict stays.
  void TellQueued(const JobStanding& standing, ScheduleReason reason, std::string sentence,
                  PlacementView verdict = {});

 private:
  const Clock& clock_;
  const ClusterModel& model_;
  Verdicts& verdicts_;
  GangWrites& writes_;
  const Complaint complaint_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_PLACEMENT_PUBLISHER_H_
