#ifndef MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_STATUS_H_
#define MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_STATUS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "operator/api/training_queue.h"
#include "operator/kube/api.h"
#include "operator/scheduler/cluster/scheduler_feed.h"
#include "operator/scheduler/queue_sync/queue_report.h"

namespace muster::control {

// Returns the status to write for `queue`, which is as read from the API server. A condition whose
// status is unchanged keeps its lastTransitionTime.
v1alpha1::TrainingQueueStatus QueueStatusOf(absl::Time now, const TrainingQueue& queue,
                                            const QueueReport& report);

// Writes the status of each TrainingQueue that has changed; a small change of the share alone is
// not written. Call it periodically from one thread; each call writes a queue at most once.
class QueueStatusWriter {
 public:
  QueueStatusWriter(kube::Api& api, const QueueCache& queues) : api_(api), queues_(queues) {}

  // Returns the number of successful writes. A conflict is left to the next call.
  int RunOnce(absl::Time now, const std::vector<QueueReport>& reports);

 private:
  kube::Api& api_;
  const QueueCache& queues_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_STATUS_H_
