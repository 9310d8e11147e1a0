#ifndef MUSTER_OPERATOR_QUEUE_FORECAST_HEADROOM_H_
#define MUSTER_OPERATOR_QUEUE_FORECAST_HEADROOM_H_

#include <memory>
#include <vector>

#include "operator/placement/gang_nodes.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_room.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/book/quota_tree.h"
#include "operator/queue/forecast/schedule_rollout.h"
#include "operator/queue/room/gang_trial.h"

namespace muster::control {

// The room for a job's smallest size, or for `workers`, in its quota and on nodes, as a future
// stands and while other jobs leave or return. A job that has started in that future counts as if
// it had not. The future must outlive it and stay as it is.
class Headroom {
 public:
  Headroom(ScheduleRollout& future, const JobEntry& entry)
      : Headroom(future, entry, entry.job.request.min) {}
  Headroom(ScheduleRollout& future, const JobEntry& entry, int workers)
      : Headroom(future, entry, workers, future.gate().NodesFor(entry.job.uid)) {}

  bool HasNodes() const { return trial_.Fits(); }
  // Checks its queue, and its namespace there.
  bool HasQuota() const { return in_queue_.Fits(workers_); }
  bool IsKeptOutByNamespace() const { return in_queue_.ShortOf(workers_).of_namespace; }
  bool Fits() const { return HasNodes() && HasQuota(); }
  // The largest gang that the nodes have room for.
  int64_t Workers() const;
  // False for a gang with inter-pod constraints: these are not checked here and may keep it out.
  bool is_all() const { return is_all_; }
  // The workers asked for.
  int64_t need() const { return trial_.need(); }

  // Workers [from, to) of a job leave, or are back again.
  void Leave(const QueuedJob& job, int from, int to) { Move(job, from, to, 1); }
  void Return(const QueuedJob& job, int from, int to) { Move(job, from, to, -1); }

  // Returns those of `gone` without which the job has no room, and brings the others back. All of
  // `gone` must have left.
  std::vector<ScheduleRollout::Gone> Needed(const std::vector<ScheduleRollout::Gone>& gone);

 private:
  Headroom(ScheduleRollout& future, const JobEntry& entry, int workers,
           const std::shared_ptr<const GangNodes>& nodes);
  void Move(const QueuedJob& job, int from, int to, int sign);

  const TopologyTree& tree_;
  const QuotaTree& quotas_;
  QueueRoom in_queue_;
  GangTrial trial_;
  const int workers_;
  bool is_all_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_FORECAST_HEADROOM_H_
