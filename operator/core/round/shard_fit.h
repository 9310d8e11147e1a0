#ifndef MUSTER_OPERATOR_CORE_ROUND_SHARD_FIT_H_
#define MUSTER_OPERATOR_CORE_ROUND_SHARD_FIT_H_

#include <string>

#include "operator/core/round/roster.h"
#include "operator/core/state/draft.h"

// Policy: which of the workers that are there form the next round where parallelism.shard ranks
// divide a copy of the state. Dividing it among fewer would need memory that nobody asked for, so
// the largest number that suits `shard` trains, and the others wait as spares.
namespace muster::control {

// Leaves in the roster's round only as many workers as form one, or all if they are too few; the
// others are moved to roster.others. Workers that together hold every slice of the newest state
// come first, then other holders of it, so that nothing is lost that somebody holds.
void FitToShard(const Draft& draft, Roster& roster);

// Returns why so many workers form no round; empty if they form one.
std::string WhyNoneForm(const Draft& draft, int workers);

// Returns true if workers that the last round left over can take the seats of those that it lost,
// so that the next one is as large without waiting for anybody.
bool SparesMakeUp(const Draft& draft, const Roster& roster);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_SHARD_FIT_H_
