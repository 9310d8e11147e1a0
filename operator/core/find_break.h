#ifndef MUSTER_OPERATOR_CORE_FIND_BREAK_H_
#define MUSTER_OPERATOR_CORE_FIND_BREAK_H_

#include <optional>

#include "operator/core/break.h"
#include "operator/core/draft.h"

namespace muster::control {

// Looks at every member of the round in memory, which is Preparing, Joining or Active. The gravest
// finding wins: an exit explains a stall, a lost worker explains both being late.
std::optional<Break> FindBreak(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FIND_BREAK_H_
