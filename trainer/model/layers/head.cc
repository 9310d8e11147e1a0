#include "trainer/model/layers/head.h"

#include <utility>
#include <vector>

#include "ATen/core/Reduction.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "trainer/model/layers/embedding.h"
#include "trainer/model/layers/layered_block.h"
#include "trainer/model/layers/linear.h"

namespace muster::trainer {
namespace {

class HeadBlock final : public LayeredBlock {
 public:
  HeadBlock(const planner::ModelShape& shape, const HeadOptions& options)
      : LayeredBlock("head"),
        width_(shape.width),
        norm_(parameters_, options.norm, options.norm_kind, shape.width, shape.norm_epsilon),
        weight_(parameters_.AddWeight(options.weight, {shape.vocabulary, shape.width},
                                      options.deviation, VocabularyParallel(shape.vocabulary))) {}

  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    if (!context.labels.defined()) return {.tensors = {NextLogits(inputs[0])}};
    const auto type = context.compute_type;
    const at::Tensor x = norm_(inputs[0]).view({-1, width_});
    const at::Tensor logits = LinearOutIn(x.to(type), parameters_[weight_]);
    const auto wide = type == at::kDouble ? at::kDouble : at::kFloat;
    return {.tensors = {at::cross_entropy_loss(logits.to(wide), context.labels.view({-1}), {},
                                               at::Reduction::Sum, kIgnoredLabel)}};
  }

 private:
  at::Tensor NextLogits(const at::Tensor& x) const {
    return LinearOutIn(norm_(x.select(1, x.size(1) - 1)), parameters_[weight_]);
  }

  const int64_t width_;
  const Norm norm_;
  const size_t weight_;
};

}  // namespace

std::unique_ptr<Block> MakeHead(const planner::ModelShape& shape, const HeadOptions& options) {
  return std::make_unique<HeadBlock>(shape, options);
}

}  // namespace muster::trainer
