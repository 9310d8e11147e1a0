#ifndef MUSTER_OPERATOR_QUEUE_GANG_QUESTION_H_
#define MUSTER_OPERATOR_QUEUE_GANG_QUESTION_H_

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"
#include "operator/queue/queue_state.h"

namespace muster::control {

// Where a waiting job would go now, for a gate whose cluster is of the beginning of the cycle: jobs
// that have started at `now` count. `request` is the job's, of the sizes that are asked for.
GangQuestion QuestionAbout(absl::Time now, const QueueBook::State& state, const JobEntry& job,
                           GangRequest request);

// All that has been told to go, or ends by itself, within `grace` has gone.
void AddLeavers(absl::Time now, const QueueBook::State& state, absl::Duration grace,
                GangQuestion& question);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_GANG_QUESTION_H_
