#include "trainer/model/layers/norm.h"

#include "ATen/TensorOperators.h"
#include "ATen/ops/layer_norm.h"
#include "ATen/ops/rms_norm.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The normalization of a device that has a kernel for it, of x + branch if there is a branch.
// Without a bias it is RMSNorm. Returns what was normalized, and the normalized rows.
class NormFunction final : public torch::autograd::Function<NormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const std::optional<at::Tensor>& branch, const at::Tensor& gain,
                               const std::optional<at::Tensor>& bias, double epsilon,
                               c10::ScalarType type) {
    const NormOutput out = LayersOf(x)->Norm(x, branch.value_or(at::Tensor()), gain,
                                             bias.value_or(at::Tensor()), epsilon, type);
    // Where nothing reads the stream beside the norm, its gradient is left out, and not zeros.
    context->set_materialize_grads(false);
    context->save_for_backward({branch ? out.sum : x, gain, out.mean, out.scale});
    context->saved_data["branch"] = branch.has_value();
    return {branch ? out.sum : x, out.y};
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const bool branch = context->saved_data["branch"].toBool();
    const at::Tensor &of_sum = gradients[0], &of_y = gradients[1];
    if (!of_y.defined()) return {of_sum, branch ? of_sum : at::Tensor(), {}, {}, {}, {}};
    const at::Tensor& sum = saved[0];
    const NormGradients of = LayersOf(sum)->NormBackward(
        of_y, of_sum, sum, saved[1],
        {.sum = branch ? sum : at::Tensor(), .y = {}, .mean = saved[2], .scale = saved[3]});
    return {of.x, of.branch, of.gain, of.bias, at::Tensor(), at::Tensor()};
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

bool Norm::HasKernel(const at::Tensor& x, c10::ScalarType type) const {
  return LayersOf(x) != nullptr && type != at::kHalf &&
         parameters_[gain_].scalar_type() == at::kFloat;
}

std::optional<at::Tensor> Norm::bias() const {
  return bias_ ? std::optional(parameters_[*bias_]) : std::nullopt;
}

at::Tensor Norm::operator()(const at::Tensor& x, c10::ScalarType type) const {
  const at::Tensor& gain = parameters_[gain_];
  if (HasKernel(x, type))
    return NormFunction::apply(x, std::nullopt, gain, bias(), epsilon_, type)[1];
  if (!bias_) return at::rms_norm(x, {width_}, gain, epsilon_);
  return at::layer_norm(x, {width_}, gain, parameters_[*bias_], epsilon_);
}

Norm::Fork Norm::AddAndFork(const at::Tensor& x, const at::Tensor& branch,
                            c10::ScalarType type) const {
  if (!HasKernel(x, type) || (branch.defined() && branch.scalar_type() != type)) {
    const at::Tensor sum = branch.defined() ? x + branch.view(x.sizes()) : x;
    return {sum, (*this)(sum, type)};
  }
  const auto added = branch.defined() ? std::optional(branch.view(x.sizes())) : std::nullopt;
  const variable_list out =
      NormFunction::apply(x, added, parameters_[gain_], bias(), epsilon_, type);
  return {out[0], out[1]};
}

}  // namespace muster::trainer
