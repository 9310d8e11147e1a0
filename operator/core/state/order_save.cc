#include "operator/core/state/order_save.h"

namespace muster::control {

int OrderSaves(Draft& draft) { return SendToMembers(draft, SaveOrder{draft.plan.memory.id}); }

}  // namespace muster::control
