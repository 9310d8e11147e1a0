#include "trainer/model/layers/fp8_linear.h"

#include <cstdint>

#include "ATen/ops/_scaled_mm.h"
#include "c10/core/GradMode.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/kernels/fp8_matrix.h"
#include "trainer/model/layers/bias_gradient.h"
#include "trainer/model/layers/matrix_product.h"
#include "trainer/model/layers/saved_casts.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One side of a product: [n, inner], row after row.
struct Operand {
  const at::Tensor& values;
  const at::Tensor& unscale;
};

Operand Rows(const Fp8Matrix& matrix) { return {matrix.rows, matrix.unscale}; }
Operand Columns(const Fp8Matrix& matrix) { return {matrix.columns, matrix.unscale}; }

struct ProductOptions {
  at::ScalarType result = at::kFloat;
  std::optional<at::Tensor> bias = std::nullopt;
  // Tensor cores may add up with fewer bits than FP32 has, which is faster, and precise enough for
  // outputs but not for gradients.
  bool fast_sums = false;
};

// Returns a [m, inner] times the transpose of b [n, inner]: cuBLAS multiplies FP8 in no other
// order.
at::Tensor TimesTransposed(const Operand& a, const Operand& b, const ProductOptions& options) {
  return at::_scaled_mm(a.values, b.values.t(), a.unscale, b.unscale, options.bias,
                        /*scale_result=*/std::nullopt, options.result, options.fast_sums);
}

class Fp8Function final : public torch::autograd::Function<Fp8Function> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, bool in_out, bool gradient_mode,
                            const c10::intrusive_ptr<WeightCasts>& casts, Fp8Input* input,
                            const c10::intrusive_ptr<DelayedGradients>& delayed) {
    const bool saves_x = gradient_mode && weight.requires_grad();
    Fp8Input own;
    const Fp8Matrix fp8_x = (input == nullptr ? own : *input).Of(x, saves_x);
    const Fp8Matrix fp8_weight = CastToFp8(casts, weight);
    context->save_for_backward({fp8_x.columns, fp8_x.unscale});
    SaveWeight(*context, weight);
    context->saved_data["in_out"] = in_out;
    context->saved_data["type"] = static_cast<int64_t>(x.scalar_type());
    Save(*context, casts);
    Save(*context, delayed);
    ProductOptions options{.result = x.scalar_type(), .fast_sums = true};
    if (bias) {
      context->saved_data["bias"] = static_cast<int64_t>(bias->scalar_type());
      options.bias = bias->to(x.scalar_type());
    }
    return TimesTransposed(Rows(fp8_x), in_out ? Columns(fp8_weight) : Rows(fp8_weight), options);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor weight = WeightOf(*context);
    const Fp8Matrix x{.rows = {}, .columns = saved[0], .unscale = saved[1]};
    const bool in_out = context->saved_data["in_out"].toBool();
    const bool of_weight = context->needs_input_grad(1);
    const Fp8Matrix g = ToFp8(gradients[0], at::kFloat8_e5m2, of_weight);
    at::Tensor x_gradient, weight_gradient, bias_gradient;
    if (context->needs_input_grad(0)) {
      const Fp8Matrix fp8_weight = CastToFp8(CastsOf(*context), weight);
      const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
      x_gradient = TimesTransposed(Rows(g), in_out ? Rows(fp8_weight) : Columns(fp8_weight),
                                   {.result = type});
    }
    if (of_weight) {
      weight_gradient = NowOrLater(*context, weight, [x, weight, g, in_out] {
        const at::Tensor product = in_out ? TimesTransposed(Columns(x), Columns(g), {})
                                          : TimesTransposed(Columns(g), Columns(x), {});
        return AddToGradient(weight, product, Factor());
      });
    }
    if (const auto bias = context->saved_data.find("bias"); bias != context->saved_data.end()) {
      bias_gradient = BiasGradient(gradients[0], static_cast<at::ScalarType>(bias->second.toInt()));
    }
    return {x_gradient,   weight_gradient, bias_gradient, at::Tensor(),
            at::Tensor(), at::Tensor(),    at::Tensor(),  at::Tensor()};
  }
};

}  // namespace

const Fp8Matrix& Fp8Input::Of(const at::Tensor& x, bool columns) {
  if (!matrix_.rows.defined() || (columns && !matrix_.columns.defined())) {
    matrix_ = ToFp8(x.detach(), at::kFloat8_e4m3fn, columns);
  }
  return matrix_;
}

at::Tensor Fp8Linear(const at::Tensor& x, const at::Tensor& weight,
                     const std::optional<at::Tensor>& bias, bool in_out,
                     const c10::intrusive_ptr<WeightCasts>& casts, Fp8Input* input,
                     const c10::intrusive_ptr<DelayedGradients>& delayed) {
  return Fp8Function::apply(x, weight, bias, in_out, c10::GradMode::is_enabled(), casts, input,
                            delayed);
}

}  // namespace muster::trainer
