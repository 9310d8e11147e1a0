#ifndef MUSTER_OPERATOR_CORE_LEAVE_SPARES_H_
#define MUSTER_OPERATOR_CORE_LEAVE_SPARES_H_

#include "operator/core/state/draft.h"
#include "operator/core/state/workers.h"

// Spares: workers beyond those that train, which wait with their program loaded. Any worker can be
// one: a lost worker's replacement is, once a spare has its seat (seats.h), and so are the workers
// that are left over where parallelism.shard needs a multiple (shard_fit.h).
namespace muster::control {

// Returns true if the job trains, or forms a round, with all the workers that it wants, and this is
// none of them. How it fares changes nothing for the round.
bool IsWaitingSpare(const Draft& draft, const Worker& worker);

// Returns true if the job trains without this worker, because the ranks of those that are there are
// no multiple of parallelism.shard, or because the worker itself is not there.
bool WaitsForShard(const Draft& draft, const Worker& worker);

// Returns true if it is the agent of a waiting spare that was in no round yet. The end of its ranks
// has broken nothing.
bool IsNewSpare(const Draft& draft, const AgentView& agent);

// Returns true if the worker could take the seat of another one at once.
bool CanTakeSeat(const Draft& draft, const Worker& worker);

// Returns how many spares there are that could.
int ReadySpares(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_SPARES_H_
