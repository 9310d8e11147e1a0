#ifndef MUSTER_OPERATOR_QUEUE_ROOM_GANG_QUESTION_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_GANG_QUESTION_H_

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"
#include "operator/queue/book/queue_book.h"

namespace muster::control {

// Asks where a waiting job would go now, of a gate whose cluster is that of the beginning of the
// cycle: jobs that started at `now` are added. `request` is the job's, with the sizes in question.
GangQuestion QuestionAbout(absl::Time now, const QueueBook::State& state, const JobEntry& job,
                           GangRequest request);

// Adds the workers that have gone after `grace`: they were told to go, or their job ends by then.
void AddLeavers(absl::Time now, const QueueBook::State& state, absl::Duration grace,
                GangQuestion& question);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_GANG_QUESTION_H_
