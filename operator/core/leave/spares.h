#ifndef MUSTER_OPERATOR_CORE_LEAVE_SPARES_H_
#define MUSTER_OPERATOR_CORE_LEAVE_SPARES_H_

#include "operator/core/state/draft.h"
#include "operator/core/state/workers.h"

// Spares are workers beyond those that train; they wait with their program loaded. Any worker can
// become one: the replacement of a lost worker whose seat a spare has taken (seats.h), or a worker
// left over because parallelism.shard needs a multiple (next_members.h).
namespace muster::control {

// Returns true if the worker is not needed: the round has all its wanted workers without it, or
// WaitsForMultiple(). Without a round, the workers beyond the wanted number are spares. A failure
// of such a worker does not affect the round.
bool IsWaitingSpare(const Draft& draft, const Worker& worker);

// Returns true if the job wants this worker but trains without it, because the ranks that are there
// do not fill another multiple of parallelism.shard, or because the worker is absent.
bool WaitsForMultiple(const Draft& draft, const Worker& worker);

// Returns true if the agent belongs to a waiting spare that has been in no round yet. The end of
// its ranks breaks nothing.
bool IsNewSpare(const Draft& draft, const AgentView& agent);

// Returns true if the worker could take the seat of another one at once.
bool CanTakeSeat(const Draft& draft, const Worker& worker);

// Returns how many spares can take a seat at once.
int ReadySpares(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_SPARES_H_
