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

  // A residual stream, and its normalized rows for the next branch of it, in `type` as above.
  struct Fork {
    at::Tensor stream;
    at::Tensor normalized;
  };
  // Forks `x`, which the caller goes on with as the result's stream: on a device with a kernel for
  // it the gradients of both meet in the pass that computes the norm's.
  Fork ForkOf(const at::Tensor& x, c10::ScalarType type) const { return AddAndFork(x, {}, type); }
  // The same for x + branch, where the branch is [rows, width] or of the shape of x.
  Fork AddAndFork(const at::Tensor& x, const at::Tensor& branch, c10::ScalarType type) const;

 private:
  // Returns true if the device has a kernel for the norm of x with a result of `type`.
  bool HasKernel(const at::Tensor& x, c10::ScalarType type) const;
  std::optional<at::Tensor> bias() const;

  const ParameterList& parameters_;
  const int64_t width_;
  const double epsilon_;
  const size_t gain_;
  std::optional<size_t> bias_;  // of LayerNorm
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_NORM_H_
