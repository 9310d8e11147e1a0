#ifndef MUSTER_OPERATOR_CORE_STATE_ORDER_SAVE_H_
#define MUSTER_OPERATOR_CORE_STATE_ORDER_SAVE_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Orders a checkpoint after the current step from the members of the Active round. Returns the
// number of agents that get the order. One is enough, because ranks vote on a save.
int OrderSaves(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_ORDER_SAVE_H_
