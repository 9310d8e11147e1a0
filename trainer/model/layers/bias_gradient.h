#ifndef MUSTER_TRAINER_MODEL_LAYERS_BIAS_GRADIENT_H_
#define MUSTER_TRAINER_MODEL_LAYERS_BIAS_GRADIENT_H_

#include "ATen/core/Tensor.h"
#include "c10/core/ScalarType.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {

// Returns the gradient of a bias of `type`, which was added to each row of what has the gradient
// `gradient` [rows, width]: the sums of its columns.
inline at::Tensor BiasGradient(const at::Tensor& gradient, c10::ScalarType type) {
  const LayerKernels* const layers = LayersOf(gradient);
  if (layers != nullptr) return layers->ColumnSums(gradient).to(type);
  // A sum of many rows may be too large for FP16.
  if (gradient.scalar_type() == at::kHalf) return gradient.sum(0, /*keepdim=*/false, type);
  return gradient.sum(0).to(type);
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_BIAS_GRADIENT_H_
