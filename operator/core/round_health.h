#ifndef MUSTER_OPERATOR_CORE_ROUND_HEALTH_H_
#define MUSTER_OPERATOR_CORE_ROUND_HEALTH_H_

#include <optional>
#include <set>

#include "operator/core/break.h"
#include "operator/core/draft.h"

namespace muster::control {

// Looks at every member of the round in memory, which is Preparing, Joining or Active. The gravest
// finding wins: an exit explains a stall, a lost worker explains both being late.
std::optional<Break> FindBreak(const Draft& draft);

// Members whose rank has ended since the last Active round, and whom no break has named. A
// survivor's stall breaks a round too, and may be heard before the exit behind it. An agent reports
// the exit before it is ready again: before a round that is being prepared can go, every such exit
// has been heard.
std::set<int> FindUnnamed(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_HEALTH_H_
