#include "trainer/engine/step/packed_numbers.h"

#include <limits>

#include "ATen/ops/constant_pad_nd.h"
#include "ATen/ops/linalg_vector_norm.h"

namespace muster::trainer {
namespace {

using planner::kInt8Block;
using planner::SavedFormat;

constexpr double kMostSteps = 127.0;

c10::ScalarType Wide(c10::ScalarType type) { return type == at::kDouble ? type : at::kFloat; }

double SmallestNormal(c10::ScalarType type) {
  return type == at::kDouble ? std::numeric_limits<double>::min()
                             : std::numeric_limits<float>::min();
}

PackedNumbers PackInt8(const at::Tensor& flat) {
  const int64_t count = flat.numel(), missing = (kInt8Block - count % kInt8Block) % kInt8Block;
  at::Tensor x = flat.to(Wide(flat.scalar_type()));
  if (missing > 0) x = at::constant_pad_nd(x, {0, missing});
  const Int8Blocks blocks = RoundToInt8(x.view({-1, kInt8Block}));
  return {flat.scalar_type(), count, blocks.steps, blocks.scales};
}

}  // namespace

Int8Blocks RoundToInt8(const at::Tensor& numbers, const at::Tensor& uniform) {
  const at::Tensor largest = at::linalg_vector_norm(
      numbers, std::numeric_limits<double>::infinity(), {-1}, /*keepdim=*/true);
  at::Tensor scales = largest.div(kMostSteps);
  scales.masked_fill_(scales.lt(SmallestNormal(numbers.scalar_type())),
                      std::numeric_limits<double>::infinity());
  at::Tensor steps = numbers.div(scales);
  if (uniform.defined()) {
    // The sum of a whole number and one just below 1 may be rounded up to the next whole number.
    steps.add_(uniform).floor_().clamp_(-kMostSteps, kMostSteps);
  } else {
    steps.round_();
  }
  scales.masked_fill_(scales.isinf().logical_and_(largest.isfinite()), 0.0);
  return {steps.to(at::kChar), scales};
}

bool CanPack(c10::ScalarType type, SavedFormat format) {
  const bool wide = type == at::kDouble || type == at::kFloat;
  switch (format) {
    case SavedFormat::kWhole:
      return false;
    case SavedFormat::kBf16:
      return wide;
    case SavedFormat::kInt8:
      return wide || type == at::kBFloat16;
  }
  return false;
}

PackedNumbers Pack(const at::Tensor& flat, SavedFormat format) {
  if (format == SavedFormat::kInt8) return PackInt8(flat);
  return {flat.scalar_type(), flat.numel(), flat.to(at::kBFloat16), at::Tensor()};
}

at::Tensor Unpack(const PackedNumbers& packed) {
  if (!packed.scales.defined()) return packed.values.to(packed.type);
  const at::Tensor x = packed.values.to(Wide(packed.type)).mul_(packed.scales);
  return x.view({-1}).narrow(0, 0, packed.count).to(packed.type);
}

}  // namespace muster::trainer
