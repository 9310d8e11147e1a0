#include "planner/model_presets.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {
namespace {

v1alpha1::ModelSpec Preset(const char* name) {
  v1alpha1::ModelSpec spec;
  spec.set_preset(name);
  return spec;
}

TEST(ModelPresets, ParameterCountsAreThePublishedOnes) {
  const struct {
    const char* preset;
    int64_t parameters;
  } kCases[] = {{"gpt2-124m", 124439808},
                {"gpt2-355m", 354823168},
                {"gpt2-774m", 774030080},
                {"gpt2-1558m", 1557611200}};
  for (const auto& c : kCases) {
    v1alpha1::ModelSpec spec = Preset(c.preset);
    spec.set_vocabulary(50257);
    const absl::StatusOr<ModelShape> shape = ResolveModel(spec, 50257);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(ParameterCount(*shape), c.parameters) << c.preset;
  }
}

TEST(ModelPresets, SmallPresetsGrowInOrder) {
  int64_t last = 0;
  for (const ModelPreset& preset : ModelPresets()) {
    const absl::StatusOr<ModelShape> shape = ResolveModel(Preset(preset.name.data()), 1024);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_GT(ParameterCount(*shape), last) << preset.name;
    last = ParameterCount(*shape);
  }
}

TEST(ResolveModel, PadsTheTokenizersVocabulary) {
  EXPECT_EQ(ResolveModel(Preset("gpt2-124m"), 50257)->vocabulary, 50304);
  EXPECT_EQ(ResolveModel(Preset("gpt2-nano"), 256)->vocabulary, 256);
}

TEST(ResolveModel, SpecOverridesThePreset) {
  v1alpha1::ModelSpec spec = Preset("gpt2-nano");
  spec.set_layers(2);
  spec.set_width(96);
  spec.set_heads(3);
  spec.set_dropout(0.1);
  EXPECT_EQ(*ResolveModel(spec, 300), (ModelShape{2, 3, 96, 256, 320, 0.1}));
}

TEST(ResolveModel, NamesTheFault) {
  v1alpha1::ModelSpec narrow = Preset("gpt2-nano");
  narrow.set_heads(5);
  v1alpha1::ModelSpec small = Preset("gpt2-nano");
  small.set_vocabulary(100);
  const struct {
    v1alpha1::ModelSpec spec;
    const char* message;
  } kCases[] = {
      {Preset("gpt3"),
       "no model preset \"gpt3\"; there are gpt2-nano, gpt2-micro, gpt2-mini, gpt2-124m, "
       "gpt2-355m, "
       "gpt2-774m, gpt2-1558m"},
      {v1alpha1::ModelSpec(),
       "a model needs a preset, or all of layers, heads, width and positions, each at least 1"},
      {narrow, "width 64 is not a multiple of heads 5"},
      {small, "model.vocabulary 100 is smaller than the tokenizer's 256"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(ResolveModel(c.spec, 256).status(), absl::InvalidArgumentError(c.message));
  }
  EXPECT_EQ(ResolveModel(Preset("gpt2-nano"), 0).status(),
            absl::InvalidArgumentError("the model's vocabulary is unknown: set model.vocabulary"));
}

TEST(EstimateMemory, CountsEachPart) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const int64_t p = ParameterCount(shape);
  const MemoryEstimate fp32 =
      EstimateMemory(shape, Precision::kFp32, 4, 1024, OptimizerKind::kAdamW);
  EXPECT_EQ(fp32.parameters, 4 * p);
  EXPECT_EQ(fp32.gradients, 4 * p);
  EXPECT_EQ(fp32.optimizer, 8 * p);
  EXPECT_EQ(fp32.checkpoint_copy, 12 * p);
  EXPECT_EQ(fp32.logits, int64_t{4} * 1024 * 50304 * 12);
  EXPECT_EQ(EstimateMemory(shape, Precision::kFp32, 4, 1024, OptimizerKind::kSgd).optimizer, 0);
  EXPECT_EQ(EstimateMemory(shape, Precision::kFp64, 4, 1024, OptimizerKind::kSgdMomentum).optimizer,
            8 * p);
  EXPECT_LT(EstimateMemory(shape, Precision::kBf16, 4, 1024, OptimizerKind::kAdamW).activations,
            fp32.activations);
  EXPECT_EQ(MemoryBytes(shape, Precision::kFp32, 4, 1024, OptimizerKind::kAdamW), fp32.Total());
}

TEST(EstimateMemory, DropoutKeepsAttentionProbabilities) {
  ModelShape shape = *ResolveModel(Preset("gpt2-nano"), 256);
  const int64_t without =
      EstimateMemory(shape, Precision::kFp32, 2, 256, OptimizerKind::kAdamW).activations;
  shape.dropout = 0.1;
  const int64_t with =
      EstimateMemory(shape, Precision::kFp32, 2, 256, OptimizerKind::kAdamW).activations;
  EXPECT_EQ(with - without, 3 * (2 * 2 * 256 * 64 + int64_t{2} * 4 * 256 * 256 * 9));
}

TEST(ParseNames, AcceptTheNamesOfTheApi) {
  EXPECT_EQ(*ParsePrecision("bf16"), Precision::kBf16);
  EXPECT_FALSE(ParsePrecision("fp16").ok());
  EXPECT_EQ(*ParseOptimizer("sgd", 0), OptimizerKind::kSgd);
  EXPECT_EQ(*ParseOptimizer("sgd", 0.9), OptimizerKind::kSgdMomentum);
  EXPECT_EQ(*ParseOptimizer("adamw", 0), OptimizerKind::kAdamW);
  EXPECT_FALSE(ParseOptimizer("lamb", 0).ok());
}

}  // namespace
}  // namespace muster::planner
