#include "trainer/model/layers/dropout.h"

#include <cstddef>
#include <span>

#include "ATen/TensorOperators.h"
#include "ATen/ops/empty.h"
#include "trainer/random/fill.h"

namespace muster::trainer {

bool Drops(double probability, const MicroBatchContext& context) {
  return context.training && probability > 0.0;
}

at::Tensor Dropout(const at::Tensor& x, const DropoutPlace& place,
                   const MicroBatchContext& context) {
  if (!Drops(place.probability, context)) return x;
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor mask = at::empty(x.sizes(), x.options().dtype(type).requires_grad(false));
  const DropoutKey key{.seed = context.seed,
                       .step = context.step,
                       .layer = place.layer,
                       .site = static_cast<int32_t>(place.site)};
  const auto size = static_cast<size_t>(mask.numel());
  if (type == at::kDouble) {
    FillDropout(key, place.probability, context.samples,
                std::span(mask.mutable_data_ptr<double>(), size));
  } else {
    FillDropout(key, place.probability, context.samples,
                std::span(mask.mutable_data_ptr<float>(), size));
  }
  return x * mask;
}

}  // namespace muster::trainer
