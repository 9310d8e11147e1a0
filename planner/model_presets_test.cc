#include "planner/model_presets.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

TEST(ResolveModel, NormEpsilonOverridesThePreset) {
  v1alpha1::ModelSpec spec = Preset("llama-nano");
  EXPECT_EQ(ResolveModel(spec, 256)->norm_epsilon, 1e-5);
  spec.set_norm_epsilon(1e-6);
  EXPECT_EQ(ResolveModel(spec, 256)->norm_epsilon, 1e-6);
  spec.set_norm_epsilon(0);
  EXPECT_EQ(ResolveModel(spec, 256).status(),
            absl::InvalidArgumentError("normEpsilon 0 is not in (0, 1]"));
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

}  // namespace
}  // namespace muster::planner
