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
  x = x.view({-1, kInt8Block});
  const at::Tensor largest =
      at::linalg_vector_norm(x, std::numeric_limits<double>::infinity(), {1}, /*keepdim=*/true);
  at::Tensor scales = largest.div(kMostSteps);
  scales.masked_fill_(scales.lt(SmallestNormal(x.scalar_type())),
                      std::numeric_limits<double>::infinity());
  const at::Tensor steps = x.div(scales).round_();
  scales.masked_fill_(scales.isinf().logical_and_(largest.isfinite()), 0.0);
  return {flat.scalar_type(), count, steps.to(at::kChar), scales};
}

}  // namespace

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
