#ifndef MUSTER_OPERATOR_CORE_HAND_OVER_H_
#define MUSTER_OPERATOR_CORE_HAND_OVER_H_

#include "operator/core/draft.h"

namespace muster::control {

// Policy: where ranks divide the state, a smaller workers.count may take away the only holder of a
// slice. The job saves a checkpoint before its round goes on without such workers; after two
// minutes it goes on without one.
void SaveBeforeSlicesLeave(Draft& draft);

// Returns true if the round under way may be broken for a smaller number of workers.
bool MayShrinkNow(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_HAND_OVER_H_
