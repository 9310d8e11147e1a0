#ifndef MUSTER_OPERATOR_QUEUE_FORECAST_HEADROOM_H_
#define MUSTER_OPERATOR_QUEUE_FORECAST_HEADROOM_H_

#include <memory>
#include <vector>

#include "operator/placement/gang_nodes.h"
#include "operator/queue/forecast/schedule_rollout.h"
#include "operator/queue/gang_trial.h"
#include "operator/queue/queue_room.h"
#include "operator/queue/queue_state.h"
#include "operator/queue/queued_job.h"
#include "operator/queue/quota_tree.h"

namespace muster::control {

// Whether a job has room for its smallest size, or for so many workers, in its quota and on nodes,
// as a future stands, when others leave or are there again. One that has started in that future
// counts as if it had not. The future must outlive it and stay as it is.
class Room {
 public:
  Room(Future& future, const JobEntry& entry) : Room(future, entry, entry.job.request.min) {}
  Room(Future& future, const JobEntry& entry, int workers)
      : Room(future, entry, workers, future.gate().NodesFor(entry.job.uid)) {}

  bool HasNodes() const { return trial_.Fits(); }
  // Of its queue, and of its namespace there.
  bool HasQuota() const { return in_queue_.Fits(workers_); }
  bool IsKeptOutByNamespace() const { return in_queue_.ShortOf(workers_).of_namespace; }
  bool Fits() const { return HasNodes() && HasQuota(); }
  // The largest gang that there are nodes for.
  int64_t Workers() const;
  // False of a social gang: rules about other pods, which are not looked at here, may keep it out.
  bool is_all() const { return is_all_; }
  // The workers asked for.
  int64_t need() const { return trial_.need(); }

  // The workers from `from` up to `to` of a job leave, or are there again.
  void Leave(const QueuedJob& job, int from, int to) { Move(job, from, to, 1); }
  void Return(const QueuedJob& job, int from, int to) { Move(job, from, to, -1); }

  // Of those that have left, the ones without which it has none; the others are there again.
  std::vector<Future::Gone> Needed(const std::vector<Future::Gone>& gone);

 private:
  Room(Future& future, const JobEntry& entry, int workers,
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
