#include "trainer/model/layers/dropout.h"

#include <vector>

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

at::Tensor DropoutMask(const at::Tensor& x, std::span<const ElementRun> runs,
                       const DropoutPlace& place, const MicroBatchContext& context) {
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor mask = at::empty(x.sizes(), x.options().dtype(type).requires_grad(false));
  const DropoutKey key{.seed = context.seed,
                       .step = context.step,
                       .layer = place.layer,
                       .site = static_cast<int32_t>(place.site)};
  KernelsOf(mask).FillDropout(key, place.probability, context.samples, runs, mask);
  return mask;
}

at::Tensor Dropout(const at::Tensor& x, const DropoutPlace& place,
                   const MicroBatchContext& context) {
  if (!Drops(place.probability, context)) return x;
  std::vector<ElementRun> runs = RowsOf(x.size(1), context);
  for (ElementRun& run : runs) run = {run.begin * x.size(2), run.count * x.size(2)};
  return x * DropoutMask(x, runs, place, context);
}

}  // namespace muster::trainer
