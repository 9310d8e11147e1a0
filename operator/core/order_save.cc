#include "operator/core/order_save.h"

namespace muster::control {

int OrderSaves(Draft& draft) {
  int sent = 0;
  for (const v1alpha1::Member& member : draft.plan.memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->agent == nullptr || !worker->agent->attached) continue;
    draft.Send(*worker, SaveOrder{draft.plan.memory.id});
    ++sent;
  }
  return sent;
}

}  // namespace muster::control
