#include "trainer/model/layers/activation.h"

#include "ATen/TensorOperators.h"
#include "ATen/ops/gelu.h"
#include "ATen/ops/silu.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class GeluFunction final : public torch::autograd::Function<GeluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return LayersOf(x)->Gelu(x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0];
    return {LayersOf(x)->GeluBackward(gradients[0], x)};
  }
};

class SwiGluFunction final : public torch::autograd::Function<SwiGluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate,
                            const at::Tensor& up) {
    context->save_for_backward({gate, up});
    return LayersOf(gate)->SwiGlu(gate, up);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const SwiGluGradients of = LayersOf(saved[0])->SwiGluBackward(gradients[0], saved[0], saved[1]);
    return {of.gate, of.up};
  }
};

}  // namespace

at::Tensor Gelu(const at::Tensor& x) {
  return LayersOf(x) != nullptr ? GeluFunction::apply(x) : at::gelu(x, "tanh");
}

at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up) {
  return LayersOf(gate) != nullptr ? SwiGluFunction::apply(gate, up) : at::silu(gate) * up;
}

}  // namespace muster::trainer
