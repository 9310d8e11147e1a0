#include "trainer/model/layers/attention.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/scaled_dot_product_attention.h"
#include "ATen/ops/softmax.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Returns the parts of packed heads as views, whose gradients are put together again in one pass
// over memory, on a device with a kernel for it.
class SplitFunction final : public torch::autograd::Function<SplitFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& packed, int64_t batch,
                               int64_t heads, bool by_head) {
    context->saved_data["sizes"] = packed.sizes();
    context->saved_data["by_head"] = by_head;
    return Parts(packed, batch, heads, by_head);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor packed = LayersOf(gradients[0])
                                  ->PackHeads(gradients[0], gradients[1], gradients[2],
                                              context->saved_data["by_head"].toBool());
    const std::vector<int64_t> sizes = context->saved_data["sizes"].toIntVector();
    return {packed.view(sizes), at::Tensor(), at::Tensor(), at::Tensor()};
  }

  static variable_list Parts(const at::Tensor& packed, int64_t batch, int64_t heads, bool by_head) {
    const int64_t sequence = packed.size(0) / batch, width = packed.size(1) / (3 * heads);
    return by_head
               ? packed.view({batch, sequence, heads, 3, width}).permute({3, 0, 2, 1, 4}).unbind(0)
               : packed.view({batch, sequence, 3, heads, width}).permute({2, 0, 3, 1, 4}).unbind(0);
  }
};

// Repeats each head for the heads of queries that share it, because the flash kernel of CPUs wants
// equal numbers. Those of GPUs read shared heads where they lie.
at::Tensor Repeat(const at::Tensor& x, int64_t heads) {
  const int64_t own = x.size(1);
  if (own == heads) return x;
  return x.unsqueeze(2)
      .expand({x.size(0), own, heads / own, x.size(2), x.size(3)})
      .reshape({x.size(0), heads, x.size(2), x.size(3)});
}

c10::ScalarType TypeOfScores(const at::Tensor& queries) {
  return queries.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// Writes the probabilities out, because the flash kernel cannot use FillDropout's masks.
at::Tensor AttendWithDropout(const AttentionInputs& in, const DropoutPlace& dropout,
                             const MicroBatchContext& context) {
  const int64_t sequence = in.queries.size(2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(in.queries.size(3)));
  at::Tensor scores = at::matmul(in.queries * scale, in.keys.transpose(-1, -2));
  scores = scores.to(TypeOfScores(in.queries));
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

c10::ScalarType BiasType(const at::Tensor& queries) {
  return queries.is_cuda() ? queries.scalar_type() : TypeOfScores(queries);
}

AttentionInputs SplitHeads(const at::Tensor& packed, int64_t batch, int64_t heads,
                           HeadOrder order) {
  const bool by_head = order == HeadOrder::kByHead;
  const variable_list parts = LayersOf(packed) != nullptr
                                  ? SplitFunction::apply(packed, batch, heads, by_head)
                                  : SplitFunction::Parts(packed, batch, heads, by_head);
  return {.queries = parts[0], .keys = parts[1], .values = parts[2], .bias = {}};
}

at::Tensor Attend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                  const MicroBatchContext& context) {
  const at::Tensor& queries = inputs.queries;
  const int64_t heads = queries.size(1);
  TORCH_CHECK(!inputs.bias.defined() || inputs.bias.scalar_type() == BiasType(queries),
              "the bias of attention must be of BiasType()");
  const bool drops = Drops(dropout.probability, context);
  const bool shared = queries.is_cuda() && !drops && inputs.keys.size(1) != heads;
  const AttentionInputs in{.queries = queries,
                           .keys = shared ? inputs.keys : Repeat(inputs.keys, heads),
                           .values = shared ? inputs.values : Repeat(inputs.values, heads),
                           .bias = inputs.bias};
  at::Tensor o;
  if (drops) {
    o = AttendWithDropout(in, dropout, context);
  } else if (in.bias.defined()) {
    o = at::scaled_dot_product_attention(in.queries, in.keys, in.values, in.bias, 0.0, false, {},
                                         shared);
  } else {
    o = at::scaled_dot_product_attention(in.queries, in.keys, in.values, {}, 0.0, true, {}, shared);
  }
  return o.transpose(1, 2).reshape({queries.size(0) * queries.size(2), heads * queries.size(3)});
}

}  // namespace muster::trainer
