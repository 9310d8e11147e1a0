// Trains with an optimizer, a schedule and a model that are defined here: a spec names the first
// two, and nothing under trainer/ knows any of them.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Reduction.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/embedding.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/sign.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/block.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/registry.h"
#include "trainer/process/spec_reader.h"

namespace muster::trainer {
namespace {

constexpr int64_t kVocabulary = 61, kWidth = 24;

// Steps of the learning rate in the direction of the gradient's signs.
class SignDescent final : public Optimizer {
 public:
  explicit SignDescent(std::vector<OptimizerUnit> units) : units_(std::move(units)) {}

  void Configure(const OptimizerOptions&) override {}
  void Apply(int unit, const UpdateOptions& options) override {
    const OptimizerUnit& applied = units_[static_cast<size_t>(unit)];
    applied.values.add_(at::sign(applied.gradients), -options.learning_rate);
  }
  const std::vector<std::string>& state_names() const override { return no_names_; }
  std::vector<at::Tensor> state(int) const override { return {}; }

 private:
  const std::vector<std::string> no_names_;
  const std::vector<OptimizerUnit> units_;
};

std::unique_ptr<Optimizer> MakeSignDescent(const OptimizerOptions&,
                                           std::vector<OptimizerUnit> units) {
  return std::make_unique<SignDescent>(std::move(units));
}

// The peak over the root of the steps.
double RootRate(const Schedule& schedule, int64_t step) {
  return schedule.peak / std::sqrt(static_cast<double>(step));
}

// The vectors of tokens, and what a bigram model predicts from them.
class Table final : public Block {
 public:
  Table(std::string name, bool last) : name_(std::move(name)), last_(last) {
    const std::vector<int64_t> shape = last ? std::vector<int64_t>{kWidth, kVocabulary}
                                            : std::vector<int64_t>{kVocabulary, kWidth};
    parameters_ = {{.name = name_ + ".weight",
                    .shape = shape,
                    .init = {Initialization::Kind::kNormal, 0.02},
                    .decay = true}};
  }

  std::string name() const override { return name_; }
  const std::vector<ParameterSpec>& parameters() const override { return parameters_; }
  void Bind(std::vector<at::Tensor> views) override { weight_ = views[0]; }
  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    if (!last_) return {.tensors = {at::embedding(weight_, context.tokens)}};
    const at::Tensor logits = at::matmul(inputs[0].view({-1, kWidth}), weight_);
    return {.tensors = {at::cross_entropy_loss(logits, context.labels.view({-1}), {},
                                               at::Reduction::Sum, kIgnoredLabel)}};
  }

 private:
  const std::string name_;
  const bool last_;
  std::vector<ParameterSpec> parameters_;
  at::Tensor weight_;
};

Model MakeBigrams() {
  Model model;
  model.blocks.push_back(std::make_unique<Table>("vectors", false));
  model.blocks.push_back(std::make_unique<Table>("predictions", true));
  return model;
}

class OwnPartsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(Optimizers().Add("sign-descent", &MakeSignDescent).ok());
    ASSERT_TRUE(Schedules().Add("root", &RootRate).ok());
  }

  // Returns the losses of 12 steps, by the ranks of a mesh.
  static std::vector<double> Train(const TrainingOptions& options, const MeshShape& mesh) {
    return TrainRanks(mesh, kVocabulary, 12,
                      [&](int rank) {
                        auto state = TrainingState::Create(MakeBigrams(), options,
                                                           PlaceOf(mesh, rank).shard);
                        EXPECT_TRUE(state.ok()) << state.status();
                        EXPECT_TRUE((*state)->InitializeFresh().ok());
                        return *std::move(state);
                      })[0]
        .losses;
  }
};

TEST_F(OwnPartsTest, AModelTrainsWithTheOptimizerAndScheduleThatItsSpecNames) {
  v1alpha1::TrainingJobSpec spec;
  v1alpha1::TrainSpec& train = *spec.mutable_trainer()->mutable_train();
  train.set_steps(12);
  train.set_global_batch(8);
  train.set_micro_batch(2);
  train.set_sequence(16);
  train.set_deterministic(true);
  v1alpha1::OptimizerSpec& optimizer = *spec.mutable_trainer()->mutable_optimizer();
  optimizer.set_name("sign-descent");
  optimizer.set_schedule("root");
  optimizer.set_learning_rate(0.1);
  spec.mutable_trainer()->mutable_parallelism()->set_zero(3);
  const auto config = ReadRunConfig(spec, 0);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->training.schedule.At(4), 0.05);
  const std::vector<double> alone = Train(config->training, {});
  ASSERT_EQ(alone.size(), 12u);
  EXPECT_LT(alone.back(), alone.front() - 1.0);
  EXPECT_EQ(Train(config->training, {.shard = 2}), alone);
  EXPECT_EQ(Train(config->training, {.data = 2, .shard = 2}), alone);
}

}  // namespace
}  // namespace muster::trainer
