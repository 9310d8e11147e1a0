#include "trainer/model/layers/attention.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "ATen/TensorOperators.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/scaled_dot_product_attention.h"
#include "ATen/ops/softmax.h"

namespace muster::trainer {
namespace {

// Repeats each head for the heads of queries that share it, because the flash kernel of CPUs wants
// equal numbers.
at::Tensor Repeat(const at::Tensor& x, int64_t heads) {
  const int64_t own = x.size(1);
  if (own == heads) return x;
  return x.unsqueeze(2)
      .expand({x.size(0), own, heads / own, x.size(2), x.size(3)})
      .reshape({x.size(0), heads, x.size(2), x.size(3)});
}

// Writes the probabilities out, because the flash kernel cannot use FillDropout's masks.
at::Tensor AttendWithDropout(const AttentionInputs& in, const DropoutPlace& dropout,
                             const MicroBatchContext& context) {
  const int64_t sequence = in.queries.size(2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(in.queries.size(3)));
  at::Tensor scores = at::matmul(in.queries * scale, in.keys.transpose(-1, -2));
  scores = scores.to(scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  if (in.bias.defined()) {
    scores = scores + in.bias;
  } else {
    const at::Tensor future =
        at::ones({sequence, sequence}, in.queries.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor kept = Dropout(at::softmax(scores, -1), dropout, context);
  return at::matmul(kept.to(in.values.scalar_type()), in.values);
}

}  // namespace

at::Tensor Attend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                  const MicroBatchContext& context) {
  const at::Tensor& queries = inputs.queries;
  const int64_t heads = queries.size(1);
  const AttentionInputs in{.queries = queries,
                           .keys = Repeat(inputs.keys, heads),
                           .values = Repeat(inputs.values, heads),
                           .bias = inputs.bias};
  at::Tensor o;
  if (Drops(dropout.probability, context)) {
    o = AttendWithDropout(in, dropout, context);
  } else if (in.bias.defined()) {
    o = at::scaled_dot_product_attention(in.queries, in.keys, in.values, in.bias, 0.0, false);
  } else {
    o = at::scaled_dot_product_attention(in.queries, in.keys, in.values, {}, 0.0, true);
  }
  return o.transpose(1, 2).reshape({queries.size(0) * queries.size(2), heads * queries.size(3)});
}

}  // namespace muster::trainer
