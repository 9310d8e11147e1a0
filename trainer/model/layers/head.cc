#include "trainer/model/layers/head.h"

#include <utility>
#include <vector>

#include "trainer/model/layers/embedding.h"
#include "trainer/model/layers/head_loss.h"
#include "trainer/model/layers/layered_block.h"
#include "trainer/model/layers/linear.h"
#include "trainer/model/layers/tensor_parallel.h"
#include "trainer/model/partition.h"

namespace muster::trainer {
namespace {

class HeadBlock final : public LayeredBlock {
 public:
  HeadBlock(const planner::ModelShape& shape, const HeadOptions& options)
      : LayeredBlock("head"),
        width_(shape.width),
        partition_(VocabularyParallel(shape.vocabulary)),
        norm_(parameters_, options.norm, options.norm_kind, shape.width, shape.norm_epsilon),
        weight_(parameters_.AddWeight(options.weight, {shape.vocabulary, shape.width},
                                      options.deviation, partition_)) {}

  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    if (!context.labels.defined()) return {.tensors = {NextLogits(inputs[0])}};
    const at::Tensor x =
        GatherSequence(norm_(inputs[0], context.compute_type), context).view({-1, width_});
    const VocabularyPart part{.group = context.axes.tensor,
                              .first = PiecesOfPart(partition_, PartOf(context)).begin,
                              .vocabulary = partition_.pieces};
    return {.tensors = {HeadLoss(x, parameters_[weight_], context.labels.view({-1}),
                                 context.compute_type, context.casts, part)}};
  }

 private:
  at::Tensor NextLogits(const at::Tensor& x) const {
    return LinearOutIn(norm_(x.select(1, x.size(1) - 1)), parameters_[weight_]);
  }

  const int64_t width_;
  const Partition partition_;
  const Norm norm_;
  const size_t weight_;
};

}  // namespace

std::unique_ptr<Block> MakeHead(const planner::ModelShape& shape, const HeadOptions& options) {
  return std::make_unique<HeadBlock>(shape, options);
}

}  // namespace muster::trainer
