#include "trainer/model/layers/dropout.h"

#include "ATen/TensorOperators.h"
#include "ATen/ops/empty.h"
#include "trainer/kernels/kernels.h"
#include "trainer/model/layers/tensor_parallel.h"
#include "trainer/random/element_run.h"
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
  // The ranks of the tensor axis divide the dimension after the samples: heads, or the sequence.
  const int64_t own = mask.numel() / mask.size(0);
  const ElementRun row = {.begin = PartOf(context).index * own, .count = own};
  KernelsOf(mask).FillDropout(key, place.probability, context.samples, {&row, 1}, mask);
  return x * mask;
}

}  // namespace muster::trainer
