#ifndef MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_PAST_H_
#define MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_PAST_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "operator/queue/queue_book.h"
#include "proto/muster/v1alpha1/training_queue.pb.h"

// What queues have used outlives its leader in their status. There it is as it was at some time:
// what became of it since then follows from what the status says is used, so that a queue in which
// nothing changes needs no writes. Pure.
namespace muster::control {

void PutPast(absl::Time now, const QueueBook::QueueView& queue,
             v1alpha1::TrainingQueueStatus& status);

// The decayed mean of what was used, by resource, as it is at `now`.
std::map<std::string, double> PastOf(const v1alpha1::TrainingQueueStatus& status, absl::Time now,
                                     absl::Duration half_life);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_PAST_H_
