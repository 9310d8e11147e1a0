#ifndef MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_PAST_H_
#define MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_PAST_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "operator/queue/book/queue_book.h"
#include "proto/muster/v1alpha1/training_queue.pb.h"

// Keeps the past use of queues in their status, so that it outlives a leader. The status has it as
// of some time; what it has become since follows from the use in the same status, so that a queue
// in which nothing changes needs no writes. Pure.
namespace muster::control {

void PutPast(absl::Time now, const QueueBook::QueueView& queue,
             v1alpha1::TrainingQueueStatus& status);

// Returns the decayed mean of what was used, by resource, as of `now`.
std::map<std::string, double> PastOf(const v1alpha1::TrainingQueueStatus& status, absl::Time now,
                                     absl::Duration half_life);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_PAST_H_
