#include "trainer/model/weight_casts.h"

namespace muster::trainer {

at::Tensor WeightCasts::Of(const at::Tensor& weight, c10::ScalarType type) {
  if (weight.scalar_type() == type) return weight;
  at::Tensor& cast = casts_[weight.unsafeGetTensorImpl()];
  if (!cast.defined() || cast.scalar_type() != type) cast = weight.detach().to(type);
  return cast;
}

void WeightCasts::Forget(std::span<const at::Tensor> weights) {
  for (const at::Tensor& weight : weights) casts_.erase(weight.unsafeGetTensorImpl());
}

at::Tensor Cast(const c10::intrusive_ptr<WeightCasts>& casts, const at::Tensor& weight,
                c10::ScalarType type) {
  return casts ? casts->Of(weight, type) : weight.to(type);
}

}  // namespace muster::trainer
