#ifndef MUSTER_OPERATOR_CORE_STRAGGLER_H_
#define MUSTER_OPERATOR_CORE_STRAGGLER_H_

#include "operator/core/draft.h"

namespace muster::control {

// Policy: a worker whose ranks make the others wait leaves its node, and a spare takes its place;
// its next pod, which becomes a spare, is placed on another node. That is so if one of its ranks
// was the busiest of all in nine steps of ten over five minutes, if the busiest rank took a quarter
// longer than the mean, and if all ranks have as many micro-batches. At most one worker moves
// within elastic.snooze, and none while another leaves. What it saves is at least a fifth of the
// time of each step.
void FindStraggler(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STRAGGLER_H_
