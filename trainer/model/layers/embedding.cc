#include "trainer/model/layers/embedding.h"

#include "ATen/ops/_unique2.h"
#include "ATen/ops/embedding.h"
#include "ATen/ops/embedding_dense_backward.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/model/layers/saved_casts.h"
#include "trainer/model/layers/tensor_parallel.h"
#include "trainer/model/partition.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Below so many times the vectors that were looked up, a table of zeros is cheap.
constexpr int64_t kSmallTable = 8;

// A leaf that has memory for its gradient gets the sums of the rows that were looked up added
// there: the same bits as by way of a table of zeros, which autograd would make and add.
class Lookup final : public torch::autograd::Function<Lookup> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight,
                            const at::Tensor& rows) {
    context->save_for_backward({rows});
    SaveWeight(*context, weight);
    return at::embedding(weight, rows);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor weight = WeightOf(*context), rows = context->get_saved_variables()[0];
    const at::Tensor& g = gradients[0];
    const bool small = weight.numel() <= kSmallTable * g.numel();
    if (small || !weight.is_leaf() || !weight.grad().defined()) {
      return {at::embedding_dense_backward(g, rows, weight.size(0), -1, false), at::Tensor()};
    }
    const auto [distinct, places, _] = at::_unique2(rows, /*sorted=*/true, /*return_inverse=*/true);
    const at::Tensor sums =
        at::embedding_dense_backward(g, places, distinct.numel(), -1, /*scale_grad_by_freq=*/false);
    weight.grad().index_add_(0, distinct, sums);
    return {at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor EmbeddingRows(const at::Tensor& weight, const at::Tensor& rows) {
  return Lookup::apply(weight, rows);
}

at::Tensor EmbeddingOfVocabulary(const at::Tensor& weight, const Partition& partition,
                                 const MicroBatchContext& context) {
  const ModelPart part = PartOf(context);
  if (part.count == 1) return EmbeddingRows(weight, context.tokens);
  const at::Tensor rows = context.tokens.sub(PiecesOfPart(partition, part).begin);
  const at::Tensor elsewhere = rows.lt(0).logical_or(rows.ge(weight.size(0)));
  const at::Tensor share = EmbeddingRows(weight, rows.masked_fill(elsewhere, 0))
                               .masked_fill(elsewhere.unsqueeze(-1), 0.0);
  return ReduceToSequence(share, context);
}

}  // namespace muster::trainer
