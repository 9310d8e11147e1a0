#include "trainer/model/layers/alibi.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ATen/TensorOperators.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
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

const at::Tensor& AlibiTable::For(const at::Tensor& positions, c10::ScalarType type) {
  const c10::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
  if (positions_.defined() && biases_.scalar_type() == type && AreEqual(positions_, positions)) {
    return biases_;
  }
  positions_ = positions;
  const int64_t sequence = positions.size(0);
  const at::Tensor distance = (positions.unsqueeze(0) - positions.unsqueeze(1)).to(wide);
  const at::Tensor future =
      at::ones({sequence, sequence}, positions.options().dtype(at::kBool)).triu(1);
  const at::Tensor slopes = AlibiSlopes(heads_, wide).to(positions.device());
  biases_ = (slopes.view({heads_, 1, 1}) * distance)
                .masked_fill(future, -std::numeric_limits<double>::infinity())
                .unsqueeze(0)
                .to(type);
  return biases_;
}

}  // namespace muster::trainer
