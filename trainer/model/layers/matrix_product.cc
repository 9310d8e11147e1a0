#include "trainer/model/layers/matrix_product.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/ops/addmm.h"
#include "ATen/ops/linear.h"
#include "ATen/ops/mm.h"
#include "ATen/ops/zeros_like.h"

namespace muster::trainer {
namespace {

// The operator behind torch.compile's linear layers: x times the transpose of w, plus bias, with
// any strides.
using LinearPointwise = at::Tensor(const at::Tensor& x, const at::Tensor& w,
                                   const std::optional<at::Tensor>& bias,
                                   std::string_view attribute,
                                   c10::List<std::optional<at::Scalar>> scalars,
                                   std::optional<std::string_view> algorithm);

const std::optional<c10::TypedOperatorHandle<LinearPointwise>>& OneDnn() {
  static const auto* handle = [] {
    auto* found = new std::optional<c10::TypedOperatorHandle<LinearPointwise>>();
    const auto schema = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (schema.has_value()) *found = schema->typed<LinearPointwise>();
    return found;
  }();
  return *handle;
}

// The most elements of a temporary. On a CPU 8 MiB in FP32 stay in the cache until they are added;
// a device wants large products, and has a cache for none of them.
int64_t BlockElements(const at::Tensor& tensor) {
  return tensor.is_cpu() ? int64_t{1} << 21 : int64_t{1} << 26;
}

// Tells whether the device can multiply such tensors into `sum` of FP32, without rounding products
// to the tensors' type.
bool MultipliesInto(const at::Tensor& sum, const at::Tensor& a) {
  return sum.is_cuda() && sum.scalar_type() == at::kFloat &&
         (a.scalar_type() == at::kBFloat16 || a.scalar_type() == at::kHalf);
}

bool IsHalfOnCpu(const at::Tensor& x) { return x.is_cpu() && x.scalar_type() == at::kHalf; }

// Returns a product that is to be added to `sum`.
at::Tensor ProductFor(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
  if (MultipliesInto(sum, a)) return at::mm(a, b, at::kFloat);
  if (IsHalfOnCpu(a)) return ProductFor(sum, a.to(at::kFloat), b.to(at::kFloat));
  return UsesOneDnn(a) ? TimesTransposed(a, b.t()) : a.matmul(b);
}

// Returns the memory for the gradient of `weight`; undefined if autograd is to keep it.
at::Tensor GradientOf(const at::Tensor& weight) {
  return weight.is_leaf() ? weight.grad() : at::Tensor();
}

}  // namespace

bool UsesOneDnn(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat && x.is_cpu() && OneDnn().has_value();
}

at::Tensor TimesTransposed(const at::Tensor& x, const at::Tensor& w,
                           const std::optional<at::Tensor>& bias) {
  if (IsHalfOnCpu(x)) {
    const auto wide_bias = bias ? std::optional(bias->to(at::kFloat)) : std::nullopt;
    return TimesTransposed(x.to(at::kFloat), w.to(at::kFloat), wide_bias).to(at::kHalf);
  }
  if (!UsesOneDnn(x)) return at::linear(x, w, bias);
  return OneDnn()->call(x, w, bias, "none", c10::List<std::optional<at::Scalar>>(), "");
}

at::Tensor Product(const at::Tensor& a, const at::Tensor& b) {
  return IsHalfOnCpu(a) ? TimesTransposed(a, b.t()) : a.matmul(b);
}

Factor::Factor(const at::Tensor& scalar) {
  if (scalar.is_cpu()) {
    known_ = scalar.item<double>();
  } else {
    of_device_ = scalar;
  }
}

std::optional<double> Factor::known() const {
  if (of_device_.defined()) return std::nullopt;
  return known_;
}

void Factor::AddTo(const at::Tensor& sum, const at::Tensor& product) const {
  if (of_device_.defined()) {
    sum.addcmul_(product, of_device_);
  } else {
    sum.add_(product, known_);
  }
}

at::Tensor Factor::Times(const at::Tensor& product) const {
  return of_device_.defined() ? product.mul(of_device_) : product.mul(known_);
}

void AddProduct(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b,
                const Factor& factor) {
  const bool wider = sum.scalar_type() != a.scalar_type();
  const std::optional<double> known = factor.known();
  if (known.has_value() && !wider && !(UsesOneDnn(a) && b.size(0) >= kManyRows)) {
    sum.addmm_(a, b, 1.0, *known);
    return;
  }
  if (known.has_value() && MultipliesInto(sum, a)) {
    // LibTorch makes no copy of the sum if that is the output too.
    at::Tensor out = sum;
    at::addmm_out(out, sum, a, b, at::kFloat, 1.0, *known);
    return;
  }
  const int64_t most = BlockElements(sum);
  const int64_t blocks = (sum.numel() + most - 1) / most;
  const int64_t size = (a.size(0) + blocks - 1) / std::max<int64_t>(blocks, 1);
  for (int64_t begin = 0; begin < a.size(0); begin += size) {
    const int64_t count = std::min(size, a.size(0) - begin);
    const at::Tensor part = sum.narrow(0, begin, count);
    factor.AddTo(part, ProductFor(part, a.narrow(0, begin, count), b));
  }
}

at::Tensor AddToGradient(const at::Tensor& weight, const at::Tensor& a, const at::Tensor& b,
                         const Factor& factor) {
  const at::Tensor gradient = GradientOf(weight);
  const at::Tensor sum = gradient.defined() ? gradient : at::zeros_like(weight);
  AddProduct(sum, a, b, factor);
  return gradient.defined() ? at::Tensor() : sum;
}

at::Tensor AddToGradient(const at::Tensor& weight, const at::Tensor& product,
                         const Factor& factor) {
  const at::Tensor gradient = GradientOf(weight);
  if (!gradient.defined()) return factor.Times(product);
  factor.AddTo(gradient, product);
  return at::Tensor();
}

}  // namespace muster::trainer
