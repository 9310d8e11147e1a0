#include "planner/model_presets.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "planner/logits_rows.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {
namespace {

v1alpha1::ModelSpec Preset(const char* name) {
  v1alpha1::ModelSpec spec;
  spec.set_preset(name);
  return spec;
}

// The counts of the models' releases, with the vocabulary of each.
TEST(ModelPresets, ParameterCountsAreThePublishedOnes) {
  const struct {
    const char* preset;
    int32_t vocabulary;
    int64_t parameters;
  } kCases[] = {{"gpt2-124m", 50257, 124439808},      {"gpt2-355m", 50257, 354823168},
                {"gpt2-774m", 50257, 774030080},      {"gpt2-1558m", 50257, 1557611200},
                {"llama-7b", 32000, 6738415616},      {"llama-13b", 32000, 13015864320},
                {"llama-33b", 32000, 32528943616},    {"llama-65b", 32000, 65285660672},
                {"llama-2-7b", 32000, 6738415616},    {"llama-2-13b", 32000, 13015864320},
                {"llama-2-70b", 32000, 68976648192},  {"llama-3-8b", 128256, 8030261248},
                {"llama-3-70b", 128256, 70553706496}, {"llama-3-405b", 128256, 405853388800},
                {"llama-3.2-1b", 128256, 1235814400}, {"llama-3.2-3b", 128256, 3212749824},
                {"bloom-560m", 250880, 559214592},    {"bloom-1b1", 250880, 1065314304},
                {"bloom-1b7", 250880, 1722408960},    {"bloom-3b", 250880, 3002557440},
                {"bloom-7b1", 250880, 7069016064},    {"bloom-176b", 250880, 176247271424}};
  for (const auto& c : kCases) {
    v1alpha1::ModelSpec spec = Preset(c.preset);
    spec.set_vocabulary(c.vocabulary);
    const absl::StatusOr<ModelShape> shape = ResolveModel(spec, c.vocabulary);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(ParameterCount(*shape), c.parameters) << c.preset;
  }
}

TEST(ModelPresets, EveryPresetIsAModelOfTheFamilyInItsName) {
  for (const ModelPreset& preset : ModelPresets()) {
    const absl::StatusOr<ModelShape> shape = ResolveModel(Preset(preset.name.data()), 1024);
    ASSERT_TRUE(shape.ok()) << preset.name << shape.status();
    EXPECT_GT(ParameterCount(*shape), 0) << preset.name;
    EXPECT_TRUE(absl::StartsWith(preset.name, absl::StrCat(Name(shape->family), "-")))
        << preset.name;
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
  EXPECT_EQ(*ResolveModel(spec, 300), CompleteShape({.layers = 2,
                                                     .heads = 3,
                                                     .width = 96,
                                                     .positions = 256,
                                                     .vocabulary = 320,
                                                     .dropout = 0.1}));
}

TEST(ResolveModel, OptionsOfLlamaOverrideThePreset) {
  v1alpha1::ModelSpec spec = Preset("llama-3.2-1b");
  spec.set_key_value_heads(4);
  spec.set_feed_forward_width(100);
  spec.set_tied_head(false);
  spec.mutable_rope()->set_theta(7000);
  const ModelShape theta = *ResolveModel(spec, 256);
  EXPECT_EQ(theta.key_value_heads, 4);
  EXPECT_EQ(theta.feed_forward_width, 100);
  EXPECT_FALSE(theta.tied_head);
  EXPECT_EQ(theta.rope_theta, 7000);
  EXPECT_EQ(
      theta.rope_scaling,
      (RopeScaling{.kind = RopeScaling::Kind::kLlama3, .factor = 32, .original_positions = 8192}));
  v1alpha1::RopeScalingSpec& scaling = *spec.mutable_rope()->mutable_scaling();
  scaling.set_kind("llama3");
  scaling.set_factor(2);
  scaling.set_low_frequency_factor(0.5);
  scaling.set_high_frequency_factor(8);
  scaling.set_original_positions(64);
  EXPECT_EQ(ResolveModel(spec, 256)->rope_scaling,
            (RopeScaling{RopeScaling::Kind::kLlama3, 2, 0.5, 8, 64}));
  scaling.Clear();
  scaling.set_kind("linear");
  scaling.set_factor(4);
  EXPECT_EQ(ResolveModel(spec, 256)->rope_scaling, (RopeScaling{RopeScaling::Kind::kLinear, 4}));
}

TEST(ResolveModel, AFamilyGivesWhatTheShapeLeavesOut) {
  v1alpha1::ModelSpec spec;
  spec.set_layers(2);
  spec.set_heads(4);
  spec.set_width(128);
  spec.set_positions(32);
  EXPECT_EQ(ResolveModel(spec, 256)->family, ModelFamily::kGpt2);
  EXPECT_EQ(ResolveModel(spec, 256)->feed_forward_width, 512);
  spec.set_family("bloom");
  EXPECT_EQ(ResolveModel(spec, 256)->family, ModelFamily::kBloom);
  EXPECT_TRUE(ResolveModel(spec, 256)->tied_head);
  spec.set_family("llama");
  const ModelShape llama = *ResolveModel(spec, 256);
  EXPECT_EQ(llama.family, ModelFamily::kLlama);
  EXPECT_EQ(llama.key_value_heads, 4);
  EXPECT_EQ(llama.feed_forward_width, 512) << "8/3 of 128 is 342";
  EXPECT_FALSE(llama.tied_head);
}

TEST(ResolveModel, NamesTheFault) {
  v1alpha1::ModelSpec narrow = Preset("gpt2-nano");
  narrow.set_heads(5);
  v1alpha1::ModelSpec small = Preset("gpt2-nano");
  small.set_vocabulary(100);
  v1alpha1::ModelSpec unshared = Preset("llama-nano");
  unshared.set_key_value_heads(3);
  v1alpha1::ModelSpec odd = Preset("llama-nano");
  odd.set_width(60);
  v1alpha1::ModelSpec rope = Preset("bloom-nano");
  rope.mutable_rope()->set_theta(500000);
  v1alpha1::ModelSpec other = Preset("bloom-nano");
  other.set_family("llama");
  v1alpha1::ModelSpec unknown;
  unknown.set_family("mamba");
  const struct {
    v1alpha1::ModelSpec spec;
    const char* message;
  } kCases[] = {
      {Preset("gpt3"),
       "no model preset \"gpt3\"; there are gpt2-nano, gpt2-micro, gpt2-mini, gpt2-124m, "
       "gpt2-355m, gpt2-774m, gpt2-1558m, llama-nano, llama-micro, llama-7b, llama-13b, llama-33b, "
       "llama-65b, llama-2-7b, llama-2-13b, llama-2-70b, llama-3-8b, llama-3-70b, llama-3-405b, "
       "llama-3.2-1b, llama-3.2-3b, bloom-nano, bloom-micro, bloom-560m, bloom-1b1, bloom-1b7, "
       "bloom-3b, bloom-7b1, bloom-176b"},
      {v1alpha1::ModelSpec(),
       "a model needs a preset, or all of layers, heads, width and positions, each at least 1"},
      {narrow, "width 64 is not a multiple of heads 5"},
      {small, "model.vocabulary 100 is smaller than the tokenizer's 256"},
      {unshared, "heads 4 is not a multiple of keyValueHeads 3"},
      {odd, "width 60 / heads 4 is odd, and rotary positions turn pairs"},
      {rope,
       "keyValueHeads, feedForwardWidth, rope and tiedHead are options of llama, and the model is "
       "a bloom"},
      {other, "the preset bloom-nano is a bloom, not a llama"},
      {unknown, "no model family \"mamba\"; there are gpt2, llama, bloom"},
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
  // A chunk, and the gradients of the head's weight and input.
  EXPECT_EQ(fp32.logits, (int64_t{164} * 50304 + (50304 + 4096) * 768) * 4);
  EXPECT_EQ(
      EstimateMemory(shape, Precision::kFp32, 4, 1024, OptimizerKind::kAdamW, LogitsPlace::kGpu)
          .logits,
      (int64_t{2048} * 50304 + (50304 + 4096) * 768) * 4);
  EXPECT_EQ(EstimateMemory(shape, Precision::kFp32, 4, 1024, OptimizerKind::kSgd).optimizer, 0);
  EXPECT_EQ(EstimateMemory(shape, Precision::kFp64, 4, 1024, OptimizerKind::kSgdMomentum).optimizer,
            8 * p);
  EXPECT_LT(EstimateMemory(shape, Precision::kBf16, 4, 1024, OptimizerKind::kAdamW).activations,
            fp32.activations);
  EXPECT_EQ(MemoryBytes(shape, Precision::kFp32, 4, 1024, OptimizerKind::kAdamW), fp32.Total());
}

TEST(EstimateMemory, TheStateFollowsFromTheNumberOfParametersAlone) {
  const MemoryEstimate state = EstimateState(1000, Precision::kFp64, OptimizerKind::kAdamW);
  EXPECT_EQ(state.parameters, 8000);
  EXPECT_EQ(state.gradients, 8000);
  EXPECT_EQ(state.optimizer, 16'000);
  EXPECT_EQ(state.checkpoint_copy, 24'000);
  EXPECT_EQ(state.activations + state.logits, 0);
}

TEST(EstimateMemory, LogitsOfFewTokensAreOneChunk) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const auto logits = [&](Precision precision) {
    return EstimateMemory(shape, precision, 2, 64, OptimizerKind::kAdamW).logits;
  };
  EXPECT_EQ(logits(Precision::kFp32), int64_t{128} * 50304 * 4);
  EXPECT_EQ(logits(Precision::kFp64), int64_t{128} * 50304 * 8);
  // In BF16 as products, in FP32 in between, and in BF16 as their gradient.
  EXPECT_EQ(logits(Precision::kBf16), int64_t{128} * 50304 * 8);
}

TEST(LogitsRows, ChunksAreBoundedAndAlike) {
  EXPECT_EQ(LogitsRows(512, 512), 512);
  EXPECT_EQ(LogitsRows(128, 50304), 128);
  EXPECT_EQ(LogitsRows(4096, 50304), 164);   // 25 chunks
  EXPECT_EQ(LogitsRows(4096, 1 << 20), 32);  // never fewer, if there are as many
  EXPECT_EQ(LogitsRows(7, int64_t{1} << 30), 7);
  EXPECT_EQ(LogitsRows(0, 512), 0);
  EXPECT_EQ(LogitsRows(4096, 50304, LogitsPlace::kGpu), 2048);  // 2 chunks
}

TEST(EstimateMemory, BiasesOfPositionsAreKeptOnce) {
  const ModelShape gpt2 = *ResolveModel(Preset("gpt2-nano"), 256);
  const ModelShape bloom = *ResolveModel(Preset("bloom-nano"), 256);
  const auto activations = [](const ModelShape& shape) {
    return EstimateMemory(shape, Precision::kFp32, 2, 256, OptimizerKind::kAdamW).activations;
  };
  EXPECT_EQ(activations(bloom) - activations(gpt2), int64_t{4} * 4 * 256 * 256);
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

TEST(DivideMemoryTest, EachStageDividesMoreOfTheState) {
  const ModelShape shape = CompleteShape(
      {.layers = 24, .heads = 16, .width = 1024, .positions = 1024, .vocabulary = 50'304});
  const int64_t p = ParameterCount(shape);
  const MemoryEstimate whole =
      EstimateMemory(shape, Precision::kFp32, 1, 1024, OptimizerKind::kAdamW);
  EXPECT_EQ(DivideMemory(whole, shape, 0, 8).Total(), whole.Total());
  EXPECT_EQ(DivideMemory(whole, shape, 3, 1).Total(), whole.Total());
  const MemoryEstimate one = DivideMemory(whole, shape, 1, 8);
  EXPECT_EQ(one.optimizer, p);
  EXPECT_EQ(one.checkpoint_copy, 4 * p + p);
  EXPECT_GT(one.gradients, 4 * p);
  EXPECT_LT(one.gradients, 5 * p);
  const MemoryEstimate two = DivideMemory(whole, shape, 2, 8);
  EXPECT_EQ(two.parameters, 4 * p);
  EXPECT_GT(two.gradients, p / 2);
  EXPECT_LT(two.gradients, 3 * p);
  const MemoryEstimate three = DivideMemory(whole, shape, 3, 8);
  EXPECT_LT(three.parameters, 3 * p);
  EXPECT_LT(three.Total(), two.Total());
  EXPECT_LT(two.Total(), one.Total());
  EXPECT_LT(one.Total(), whole.Total());
  EXPECT_EQ(three.checkpoint_copy, (12 * p + 7) / 8);
  EXPECT_EQ(three.activations, whole.activations);
  // More ranks leave less on each.
  EXPECT_LT(DivideMemory(whole, shape, 3, 64).Total(), three.Total());
}

TEST(DivideMemoryTest, AModelOfUnknownShapeIsDividedByItsLargestUnit) {
  const MemoryEstimate whole = EstimateState(100'000, Precision::kFp32, OptimizerKind::kAdamW);
  EXPECT_EQ(DivideState(whole, 100'000, 10'000, 0, 4).Total(), whole.Total());
  const MemoryEstimate one = DivideState(whole, 100'000, 10'000, 1, 4);
  EXPECT_EQ(one.parameters, 400'000);
  EXPECT_EQ(one.gradients, 480'000);
  EXPECT_EQ(one.optimizer, 200'000);
  EXPECT_EQ(one.checkpoint_copy, 600'000);
  EXPECT_EQ(DivideState(whole, 100'000, 10'000, 2, 4).gradients, 220'000);
  const MemoryEstimate three = DivideState(whole, 100'000, 10'000, 3, 4);
  EXPECT_EQ(three.parameters, 220'000);
  EXPECT_EQ(three.checkpoint_copy, 300'000);
}

TEST(DivideMemoryTest, OffloadedStateCountsForTheUnitsInUseOnly) {
  const ModelShape shape = CompleteShape(
      {.layers = 24, .heads = 16, .width = 1024, .positions = 1024, .vocabulary = 50'304});
  const MemoryEstimate whole =
      EstimateMemory(shape, Precision::kFp32, 1, 1024, OptimizerKind::kAdamW);
  const MemoryEstimate optimizer = DivideMemory(whole, shape, 0, 1, {.optimizer = true});
  EXPECT_GT(optimizer.optimizer, 0);
  EXPECT_LT(optimizer.optimizer, whole.optimizer / 5);
  EXPECT_EQ(optimizer.Total(), whole.Total() - whole.optimizer + optimizer.optimizer)
      << "a checkpoint is copied in memory all the same";
  const MemoryEstimate alone = DivideMemory(whole, shape, 3, 1, {.weights = true});
  EXPECT_LT(alone.parameters, whole.parameters);
  EXPECT_EQ(alone.optimizer, whole.optimizer);
  const MemoryEstimate both =
      DivideMemory(whole, shape, 3, 64, {.optimizer = true, .weights = true});
  EXPECT_EQ(both.optimizer, DivideMemory(whole, shape, 3, 64).optimizer)
      << "a share may be less than a unit";
  EXPECT_LE(both.Total(), DivideMemory(whole, shape, 3, 64).Total());
}

}  // namespace
}  // namespace muster::planner
