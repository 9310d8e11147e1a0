#ifndef MUSTER_TRAINER_MODEL_LAYERS_POSITIONS_H_
#define MUSTER_TRAINER_MODEL_LAYERS_POSITIONS_H_

#include "ATen/core/Tensor.h"
#include "ATen/ops/equal.h"

namespace muster::trainer {

// Compares positions with those that a table was made for. Contexts share one tensor of positions,
// so that the host hardly ever waits for the device to compare elements.
inline bool AreEqual(const at::Tensor& a, const at::Tensor& b) {
  return a.is_same(b) || (a.device() == b.device() && at::equal(a, b));
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_POSITIONS_H_
