#ifndef MUSTER_OPERATOR_CORE_LEAVE_STRAGGLER_H_
#define MUSTER_OPERATOR_CORE_LEAVE_STRAGGLER_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Policy: a worker whose ranks make the others wait leaves its node, and its next pod is placed on
// another one. That is so if one of its ranks was the busiest of all in nine steps of ten over five
// minutes, if the busiest rank took a quarter longer than the mean, and if all ranks have as many
// micro-batches and no stages of a pipeline, whose costs differ. A spare takes its place, which
// saves at least a fifth of the time of each step. Without a spare the others train without it, if
// workers.min allows it and their steps are shorter by a tenth at least, although each has more to
// do; its next pod then waits until another node has room. At most one worker moves within
// elastic.snooze, and none while another leaves.
void FindStraggler(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_STRAGGLER_H_
