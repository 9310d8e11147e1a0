#ifndef MUSTER_OPERATOR_CORE_ROUND_ROUND_HEALTH_H_
#define MUSTER_OPERATOR_CORE_ROUND_ROUND_HEALTH_H_

#include <optional>
#include <set>

#include "operator/core/state/break.h"
#include "operator/core/state/draft.h"

namespace muster::control {

// Looks at every member of the round in memory, which is Preparing, Joining or Active. The gravest
// finding wins: an exit or a lost worker explains a stall and a missed deadline.
std::optional<Break> FindBreak(const Draft& draft);

// Returns the members whose rank has ended since the last Active round and that no break has named.
// A survivor's stall breaks a round too, and its report may arrive before that of the exit which
// caused it. An agent reports an exit before it is ready again, so every such exit is known before
// a round that is being prepared can go.
std::set<int> FindUnnamed(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_ROUND_HEALTH_H_
