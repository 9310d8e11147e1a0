#include "trainer/model/layers/norm.h"

#include "ATen/ops/layer_norm.h"
#include "ATen/ops/rms_norm.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The normalization of a device that has a kernel for it. Without a bias it is RMSNorm.
class NormFunction final : public torch::autograd::Function<NormFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& gain,
                            const std::optional<at::Tensor>& bias, double epsilon,
                            c10::ScalarType type) {
    const NormOutput out = LayersOf(x)->Norm(x, gain, bias.value_or(at::Tensor()), epsilon, type);
    context->save_for_backward({x, gain, out.mean, out.scale});
    return out.y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const NormGradients of = LayersOf(saved[0])->NormBackward(
        gradients[0], saved[0], saved[1], {.y = {}, .mean = saved[2], .scale = saved[3]});
    return {of.x, of.gain, of.bias, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

Norm::Norm(ParameterList& parameters, const std::string& name, Kind kind, int64_t width,
           double epsilon)
    : parameters_(parameters),
      width_(width),
      epsilon_(epsilon),
      gain_(parameters.AddGain(name + ".weight", width)) {
  if (kind == Kind::kLayerNorm) bias_ = parameters.AddBias(name + ".bias", width);
}

at::Tensor Norm::operator()(const at::Tensor& x, c10::ScalarType type) const {
  const at::Tensor& gain = parameters_[gain_];
  if (LayersOf(x) != nullptr && gain.scalar_type() == at::kFloat) {
    const auto bias = bias_ ? std::optional(parameters_[*bias_]) : std::nullopt;
    return NormFunction::apply(x, gain, bias, epsilon_, type);
  }
  if (!bias_) return at::rms_norm(x, {width_}, gain, epsilon_);
  return at::layer_norm(x, {width_}, gain, parameters_[*bias_], epsilon_);
}

}  // namespace muster::trainer
