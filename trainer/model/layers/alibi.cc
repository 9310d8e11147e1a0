#include "trainer/model/layers/alibi.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ATen/TensorOperators.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/full.h"
#include "ATen/ops/pow.h"
#include "trainer/model/layers/positions.h"

namespace muster::trainer {
namespace {

// Returns the powers 1, 1 + step, ... below `end` of 2^(-8/heads), for a power of two. The base is
// rounded to the type first, as in the code that published models were trained with.
at::Tensor Powers(int64_t heads, int64_t end, int64_t step, c10::ScalarType type) {
  const at::TensorOptions options = at::TensorOptions().dtype(type);
  const at::Tensor base = at::full({}, std::exp2(-8.0 / static_cast<double>(heads)), options);
  return at::pow(base, at::arange(1, end, step, options));
}

}  // namespace

at::Tensor AlibiSlopes(int64_t heads, c10::ScalarType type) {
  const auto lower = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  const at::Tensor slopes = Powers(lower, 1 + lower, 1, type);
  if (lower == heads) return slopes;
  return at::cat({slopes, Powers(2 * lower, 1 + 2 * (heads - lower), 2, type)});
}

at::Tensor AlibiTable::Between(const at::Tensor& queries, const at::Tensor& keys,
                               const HeadRange& heads, c10::ScalarType type) const {
  const c10::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor distance = keys.unsqueeze(0) - queries.unsqueeze(1);
  const at::Tensor slopes = AlibiSlopes(heads_, wide).narrow(0, heads.first, heads.count);
  return (slopes.to(queries.device()).view({heads.count, 1, 1}) * distance.to(wide))
      .masked_fill(distance.gt(0), -std::numeric_limits<double>::infinity())
      .unsqueeze(0)
      .to(type);
}

const at::Tensor& AlibiTable::For(const at::Tensor& positions, const HeadRange& heads,
                                  c10::ScalarType type) {
  if (positions_.defined() && of_heads_ == heads && biases_.scalar_type() == type &&
      AreEqual(positions_, positions)) {
    return biases_;
  }
  positions_ = positions;
  of_heads_ = heads;
  biases_ = Between(positions, positions, heads, type);
  return biases_;
}

}  // namespace muster::trainer
