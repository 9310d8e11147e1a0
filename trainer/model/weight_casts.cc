#include "trainer/model/weight_casts.h"

namespace muster::trainer {
namespace {

// Returns all elements in the memory of `weight` as one flat tensor.
at::Tensor WholeMemory(const at::Tensor& weight) {
  const auto elements =
      static_cast<int64_t>(weight.storage().nbytes()) / static_cast<int64_t>(weight.itemsize());
  return weight.detach().as_strided({elements}, {1}, 0);
}

}  // namespace

at::Tensor WeightCasts::Of(const at::Tensor& weight, c10::ScalarType type) {
  if (weight.scalar_type() == type) return weight;
  Memory& memory = casts_[weight.storage().unsafeGetStorageImpl()];
  if (!memory.flat.defined() || memory.flat.scalar_type() != type) {
    memory.flat = WholeMemory(weight).to(type);
    memory.weights.clear();
  }
  at::Tensor& cast = memory.weights[weight.unsafeGetTensorImpl()];
  if (!cast.defined()) {
    cast = memory.flat.as_strided(weight.sizes(), weight.strides(), weight.storage_offset());
  }
  return cast;
}

Fp8Matrix WeightCasts::Fp8Of(const at::Tensor& weight) {
  Memory& memory = casts_[weight.storage().unsafeGetStorageImpl()];
  Fp8Matrix& cast = memory.fp8[weight.unsafeGetTensorImpl()];
  if (!cast.rows.defined()) cast = ToFp8(weight.detach(), at::kFloat8_e4m3fn, /*columns=*/true);
  return cast;
}

void WeightCasts::Forget(std::span<const at::Tensor> weights) {
  for (const at::Tensor& weight : weights) casts_.erase(weight.storage().unsafeGetStorageImpl());
}

at::Tensor Cast(const c10::intrusive_ptr<WeightCasts>& casts, const at::Tensor& weight,
                c10::ScalarType type) {
  return casts ? casts->Of(weight, type) : weight.to(type);
}

Fp8Matrix CastToFp8(const c10::intrusive_ptr<WeightCasts>& casts, const at::Tensor& weight) {
  if (casts) return casts->Fp8Of(weight);
  return ToFp8(weight.detach(), at::kFloat8_e4m3fn, /*columns=*/true);
}

}  // namespace muster::trainer
