#ifndef MUSTER_OPERATOR_CORE_ROUND_SHARD_FIT_H_
#define MUSTER_OPERATOR_CORE_ROUND_SHARD_FIT_H_

#include <string>

#include "operator/core/round/roster.h"
#include "operator/core/state/draft.h"

// Policy: chooses which of the present workers form the next round if parallelism.shard ranks
// divide a copy of the state. With fewer ranks per copy each rank would need more memory than the
// spec asks for, so the largest number of workers that suits `shard` trains, and the others wait as
// spares.
namespace muster::control {

// Keeps only as many workers in the roster's round as can form one, or all if they are too few, and
// moves the others to roster.others. Prefers workers that together hold every slice of the newest
// state, then other holders of it, so that no slice is lost that a present worker holds.
void FitToShard(const Draft& draft, Roster& roster);

// Returns why `workers` workers cannot form a round; empty if they can, or if `workers` is below 1.
std::string WhyNoneForm(const Draft& draft, int workers);

// Returns true if workers that the last round left over can take the seats of those that it lost,
// so that the next round is as large without waiting for another worker.
bool SparesMakeUp(const Draft& draft, const Roster& roster);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_SHARD_FIT_H_
