#include "trainer/model/layers/linear.h"

#include <optional>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/addmm.h"
#include "ATen/ops/linear.h"
#include "ATen/ops/mm.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/model/layers/bias_gradient.h"
#include "trainer/model/layers/matrix_product.h"
#include "trainer/model/layers/saved_casts.h"
#include "trainer/model/layers/tensor_parallel.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Returns a times b, or nothing if it is in the weight's gradient already.
at::Tensor WeightGradient(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b) {
  return b.size(0) < kManyRows ? AddToGradient(weight, a, b) : TimesTransposed(a, b.t());
}

// Returns a times b, of a narrower type than the weight's, or nothing if it is in the weight's
// gradient already: CUDA adds such a product to it without rounding it first, and products of FP16
// are added so everywhere.
at::Tensor CastWeightGradient(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b) {
  const bool adds = a.is_cuda() || a.scalar_type() == at::kHalf;
  return adds ? AddToGradient(weight, a, b) : a.matmul(b).to(weight.scalar_type());
}

// y = x w^T + bias, for a weight as it lies in memory: [out, in], or [in, out] if `transposed`.
class OwnLinear final : public torch::autograd::Function<OwnLinear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, bool transposed,
                            const c10::intrusive_ptr<DelayedGradients>& delayed) {
    context->save_for_backward({x});
    SaveWeight(*context, weight);
    context->saved_data["transposed"] = transposed;
    Save(*context, delayed);
    context->saved_data["bias"] = bias.has_value();
    return TimesTransposed(x, transposed ? weight.t() : weight, bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0], weight = WeightOf(*context);
    const at::Tensor g = gradients[0].contiguous();
    const bool transposed = context->saved_data["transposed"].toBool();
    at::Tensor x_gradient, weight_gradient, bias_gradient;
    if (context->needs_input_grad(0)) {
      x_gradient = TimesTransposed(g, transposed ? weight : weight.t());
    }
    if (context->needs_input_grad(1)) {
      weight_gradient = NowOrLater(*context, weight, [x = x.detach(), weight, g, transposed] {
        return transposed ? WeightGradient(weight, x.t(), g) : WeightGradient(weight, g.t(), x);
      });
    }
    if (context->saved_data["bias"].toBool()) bias_gradient = g.sum(0);
    return {x_gradient, weight_gradient, bias_gradient, at::Tensor(), at::Tensor()};
  }
};

// The same in another type than the weights'. Copies of them in that type are asked for in the
// forward pass and again in the backward pass, so that this function keeps nothing but the weights
// themselves, which may be freed between.
class CastLinear final : public torch::autograd::Function<CastLinear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, bool transposed,
                            const c10::intrusive_ptr<WeightCasts>& casts,
                            const c10::intrusive_ptr<DelayedGradients>& delayed) {
    context->save_for_backward({x});
    SaveWeight(*context, weight);
    context->saved_data["transposed"] = transposed;
    Save(*context, casts);
    Save(*context, delayed);
    if (bias) context->saved_data["bias"] = static_cast<int64_t>(bias->scalar_type());
    const at::Tensor cast = Cast(casts, weight, x.scalar_type());
    const auto cast_bias = bias ? std::optional(Cast(casts, *bias, x.scalar_type())) : std::nullopt;
    return TimesTransposed(x, transposed ? cast.t() : cast, cast_bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0], weight = WeightOf(*context);
    const at::Tensor& g = gradients[0];
    const bool transposed = context->saved_data["transposed"].toBool();
    at::Tensor x_gradient, weight_gradient, bias_gradient;
    if (context->needs_input_grad(0)) {
      const at::Tensor cast = Cast(CastsOf(*context), weight, x.scalar_type());
      x_gradient = Product(g, transposed ? cast.t() : cast);
    }
    if (context->needs_input_grad(1)) {
      weight_gradient = NowOrLater(*context, weight, [x = x.detach(), weight, g, transposed] {
        return CastWeightGradient(weight, transposed ? x.t() : g.t(), transposed ? g : x);
      });
    }
    if (const auto bias = context->saved_data.find("bias"); bias != context->saved_data.end()) {
      bias_gradient = BiasGradient(g, static_cast<at::ScalarType>(bias->second.toInt()));
    }
    return {x_gradient, weight_gradient, bias_gradient, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor LinearInOut(const at::Tensor& x, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias,
                       const c10::intrusive_ptr<WeightCasts>& casts,
                       const c10::intrusive_ptr<DelayedGradients>& delayed) {
  if (x.scalar_type() != weight.scalar_type()) {
    return CastLinear::apply(x, weight, bias, true, casts, delayed);
  }
  if (UsesOneDnn(x) || delayed) return OwnLinear::apply(x, weight, bias, true, delayed);
  return bias ? at::addmm(*bias, x, weight) : at::mm(x, weight);
}

at::Tensor LinearOutIn(const at::Tensor& x, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias,
                       const c10::intrusive_ptr<WeightCasts>& casts,
                       const c10::intrusive_ptr<DelayedGradients>& delayed) {
  if (x.scalar_type() != weight.scalar_type()) {
    return CastLinear::apply(x, weight, bias, false, casts, delayed);
  }
  if (UsesOneDnn(x) || delayed) return OwnLinear::apply(x, weight, bias, false, delayed);
  return at::linear(x, weight, bias);
}

LinearOptions ColumnParallel(LinearOptions options, int64_t pieces, int64_t blocks) {
  options.divide = LinearOptions::Divide::kOutputs;
  options.pieces = pieces;
  options.blocks = blocks;
  return options;
}

LinearOptions RowParallel(LinearOptions options, int64_t pieces) {
  options.divide = LinearOptions::Divide::kInputs;
  options.pieces = pieces;
  return options;
}

Linear::Linear(ParameterList& parameters, const std::string& name, const LinearOptions& options)
    : parameters_(parameters),
      layout_(options.layout),
      row_parallel_(options.divide == LinearOptions::Divide::kInputs) {
  using Divide = LinearOptions::Divide;
  const bool in_out = layout_ == LinearOptions::Layout::kInOut;
  Partition weight, bias;
  if (options.divide != Divide::kNothing) {
    const bool outputs = options.divide == Divide::kOutputs;
    weight = {
        .dimension = outputs == in_out ? 1 : 0, .blocks = options.blocks, .pieces = options.pieces};
    // The bias of a row parallel layer is added once, to the sum over the ranks.
    if (outputs) bias = {.dimension = 0, .blocks = options.blocks, .pieces = options.pieces};
  }
  weight_ = parameters.AddWeight(name + ".weight",
                                 in_out ? std::vector<int64_t>{options.in, options.out}
                                        : std::vector<int64_t>{options.out, options.in},
                                 options.deviation, weight);
  if (in_out || options.bias) bias_ = parameters.AddBias(name + ".bias", options.out, bias);
}

at::Tensor Linear::Multiply(const LinearInput& x, const std::optional<at::Tensor>& bias,
                            const MicroBatchContext& context) const {
  const at::Tensor& weight = parameters_[weight_];
  // Each layer casts for itself, so that the gradients of a wider input are added up in its type.
  const at::Tensor cast = x.rows().to(context.compute_type);
  const bool in_out = layout_ == LinearOptions::Layout::kInOut;
  if (context.fp8) {
    return Fp8Linear(cast, weight, bias, in_out, context.casts, &x.fp8(), context.delayed);
  }
  return in_out ? LinearInOut(cast, weight, bias, context.casts, context.delayed)
                : LinearOutIn(cast, weight, bias, context.casts, context.delayed);
}

at::Tensor Linear::operator()(const LinearInput& x, const MicroBatchContext& context) const {
  const auto bias = bias_ ? std::optional(parameters_[*bias_]) : std::nullopt;
  if (!row_parallel_ || context.axes.tensor == nullptr) return Multiply(x, bias, context);
  const at::Tensor share = Multiply(x, std::nullopt, context);
  const int64_t batch = context.tokens.size(0), width = share.size(1);
  const at::Tensor sum =
      ReduceToSequence(share.view({batch, -1, width}), context).view({-1, width});
  if (!bias) return sum;
  // The bias' gradient is a sum over rows, and autograd adds in the type of the addition.
  if (sum.scalar_type() == at::kHalf) return (sum.to(bias->scalar_type()) + *bias).to(at::kHalf);
  return sum + bias->to(sum.scalar_type());
}

}  // namespace muster::trainer
