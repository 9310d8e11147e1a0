#ifndef MUSTER_TRAINER_MODEL_LAYERS_NORM_H_
#define MUSTER_TRAINER_MODEL_LAYERS_NORM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "ATen/core/Tensor.h"
#include "c10/core/ScalarType.h"
#include "trainer/model/layers/layered_block.h"

namespace muster::trainer {

// A normalization over the last dimension, with a gain of its block, `name`.weight, and in
// LayerNorm also `name`.bias.
class Norm {
 public:
  enum class Kind { kLayerNorm, kRmsNorm };
  Norm(ParameterList& parameters, const std::string& name, Kind kind, int64_t width,
       double epsilon);

  // Returns the normalized rows in the type of x. On a device with a kernel for it
  // (trainer/kernels) they are in `type`, to which their only reader casts them.
  at::Tensor operator()(const at::Tensor& x, c10::ScalarType type) const;
  at::Tensor operator()(const at::Tensor& x) const { return (*this)(x, x.scalar_type()); }

 private:
  const ParameterList& parameters_;
  const int64_t width_;
  const double epsilon_;
  const size_t gain_;
  std::optional<size_t> bias_;  // of LayerNorm
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_NORM_H_
