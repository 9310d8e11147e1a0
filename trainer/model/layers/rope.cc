#include "trainer/model/layers/rope.h"

#include <numbers>

#include "ATen/TensorOperators.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/outer.h"
#include "ATen/ops/pow.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/kernels/kernels.h"
#include "trainer/model/layers/positions.h"

namespace muster::trainer {
namespace {

using planner::RopeScaling;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Divides low frequencies by the factor, keeps high ones, and goes from one to the other in
// between: apply_scaling() of Llama 3.1's reference code.
at::Tensor ScaleAsLlama3(const at::Tensor& frequencies, const RopeScaling& scaling) {
  const at::Tensor turns = frequencies * (scaling.original_positions / (2 * std::numbers::pi));
  const at::Tensor share = ((turns - scaling.low_frequency_factor) /
                            (scaling.high_frequency_factor - scaling.low_frequency_factor))
                               .clamp(0.0, 1.0);
  return frequencies * share + frequencies / scaling.factor * (1.0 - share);
}

at::Tensor TurnBy(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                  bool back) {
  if (const LayerKernels* const layers = LayersOf(x); layers != nullptr) {
    return layers->Turn(x, cosine, sine, back);
  }
  const at::Tensor s = back ? -sine : sine;
  const int64_t half = x.size(-1) / 2;
  const at::Tensor a = x.narrow(-1, 0, half), b = x.narrow(-1, half, half);
  return at::cat({a * cosine - b * s, b * cosine + a * s}, -1).to(x.scalar_type());
}

// The gradient of a turn is the turn back, so that nothing of x is kept.
class TurnFunction final : public torch::autograd::Function<TurnFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& cosine,
                            const at::Tensor& sine) {
    context->save_for_backward({cosine, sine});
    return TurnBy(x, cosine, sine, /*back=*/false);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    return {TurnBy(gradients[0], saved[0], saved[1], /*back=*/true), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor RopeFrequencies(const planner::ModelShape& shape, c10::ScalarType type) {
  const int64_t width = shape.head_width();
  const at::Tensor exponents = at::arange(0, width, 2, at::TensorOptions().dtype(type)) / width;
  const at::Tensor plain = at::pow(at::Scalar(shape.rope_theta), exponents).reciprocal();
  switch (shape.rope_scaling.kind) {
    case RopeScaling::Kind::kNone:
      return plain;
    case RopeScaling::Kind::kLinear:
      return plain / shape.rope_scaling.factor;
    case RopeScaling::Kind::kLlama3:
      return ScaleAsLlama3(plain, shape.rope_scaling);
  }
  return plain;
}

const RopeAngles& RopeTable::For(const at::Tensor& positions, c10::ScalarType type) {
  const c10::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
  if (positions_.defined() && angles_.cosine.scalar_type() == wide &&
      AreEqual(positions_, positions)) {
    return angles_;
  }
  positions_ = positions;
  const at::Tensor frequencies = RopeFrequencies(shape_, wide).to(positions.device());
  const at::Tensor angles = at::outer(positions.to(wide), frequencies);
  angles_ = {.cosine = angles.cos(), .sine = angles.sin()};
  return angles_;
}

at::Tensor Turn(const at::Tensor& x, const RopeAngles& angles) {
  return TurnFunction::apply(x, angles.cosine, angles.sine);
}

}  // namespace muster::trainer
