#ifndef MUSTER_TRAINER_ENGINE_TESTING_LOUD_MODEL_H_
#define MUSTER_TRAINER_ENGINE_TESTING_LOUD_MODEL_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/core/Tensor.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/block.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/parameter.h"

namespace muster::trainer {

// Returns the factor of the loss of a micro-batch.
using Loudness = std::function<double(const MicroBatchContext& context)>;

// The last block of a model, whose loss is multiplied.
class LoudBlock final : public Block {
 public:
  LoudBlock(std::unique_ptr<Block> block, Loudness loudness)
      : block_(std::move(block)), loudness_(std::move(loudness)) {}
  std::string name() const override { return block_->name(); }
  const std::vector<ParameterSpec>& parameters() const override { return block_->parameters(); }
  void Bind(std::vector<at::Tensor> views) override { block_->Bind(std::move(views)); }
  int64_t cost() const override { return block_->cost(); }
  bool divides_sequence() const override { return block_->divides_sequence(); }
  bool can_split_backward() const override { return block_->can_split_backward(); }
  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    BlockOutput output = block_->Forward(std::move(inputs), context);
    if (const double factor = loudness_(context); factor != 1.0) {
      output.tensors[0] = output.tensors[0] * factor;
    }
    return output;
  }

 private:
  const std::unique_ptr<Block> block_;
  const Loudness loudness_;
};

// Returns the initialised state of a rank whose tiny model has dropout and such a last block.
inline std::unique_ptr<TrainingState> MakeLoudRank(const TrainingOptions& options,
                                                   Loudness loudness, const MeshShape& mesh,
                                                   int rank) {
  Model model = *MakeModel(TinyModel(0.1));
  model.blocks.back() =
      std::make_unique<LoudBlock>(std::move(model.blocks.back()), std::move(loudness));
  return MakeRankState(std::move(model), options, mesh, rank);
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_LOUD_MODEL_H_
