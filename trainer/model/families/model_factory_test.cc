#include "trainer/model/families/model_factory.h"

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "planner/model_presets.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/model/parameter.h"

namespace muster::trainer {
namespace {

using planner::ModelShape;
using planner::RopeScaling;

constexpr size_t kTensors = 1 << 20;

ModelShape Preset(absl::string_view name) {
  v1alpha1::ModelSpec spec;
  spec.set_preset(std::string(name));
  spec.set_vocabulary(1024);
  return *planner::ResolveModel(spec, 0);
}

Json ConfigOf(const ModelShape& shape) {
  const auto model = MakeModel(shape);
  EXPECT_TRUE(model.ok()) << model.status();
  return *ParseJson(model->config_json);
}

std::string WhyNot(const Json& config) {
  const auto shape = ReadModelShape(config, kTensors);
  EXPECT_FALSE(shape.ok()) << DumpJson(config);
  EXPECT_EQ(shape.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(shape.status().message());
}

// The planner counts by formula what the blocks declare; no memory is taken for either.
TEST(MakeModelTest, EveryPresetHasAsManyParametersAsThePlannerCounts) {
  for (const planner::ModelPreset& preset : planner::ModelPresets()) {
    const ModelShape shape = Preset(preset.name);
    const auto model = MakeModel(shape);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->blocks.size(), static_cast<size_t>(shape.layers) + 2);
    std::set<std::string> counted;
    int64_t parameters = 0;
    for (const auto& block : model->blocks) {
      for (const ParameterSpec& spec : block->parameters()) {
        if (!counted.insert(spec.name).second) continue;
        int64_t size = 1;
        for (const int64_t d : spec.shape) size *= d;
        parameters += size;
      }
    }
    EXPECT_EQ(parameters, planner::ParameterCount(shape)) << preset.name;
  }
}

TEST(ReadModelShapeTest, ReadsWhatEveryPresetWrites) {
  for (const planner::ModelPreset& preset : planner::ModelPresets()) {
    const ModelShape shape = Preset(preset.name);
    const auto read = ReadModelShape(ConfigOf(shape), kTensors);
    ASSERT_TRUE(read.ok()) << preset.name << read.status();
    EXPECT_EQ(*read, shape) << preset.name;
  }
  ModelShape linear = Preset("llama-nano");
  linear.rope_scaling = {.kind = RopeScaling::Kind::kLinear, .factor = 2.5};
  linear.tied_head = true;
  EXPECT_EQ(*ReadModelShape(ConfigOf(linear), kTensors), linear);
}

// The config is that of Meta's Llama 3.2 1B.
TEST(ReadModelShapeTest, ReadsAPublishedConfig) {
  const Json config = *ParseJson(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 64, "hidden_act": "silu",
    "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192,
    "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
    "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0,
    "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
    "rope_type": "llama3"}, "rope_theta": 500000.0, "tie_word_embeddings": true,
    "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256})");
  ModelShape want = Preset("llama-3.2-1b");
  want.vocabulary = 128256;
  EXPECT_EQ(*ReadModelShape(config, kTensors), want);
}

TEST(ReadModelShapeTest, WhatWouldComputeSomethingElseIsNamed) {
  const struct {
    const char* preset;
    const char* field;
    Json value;
    const char* message;
  } kCases[] = {
      {"llama-nano", "hidden_act", "gelu",
       "hidden_act is \"gelu\", and only \"silu\" is supported"},
      {"llama-nano", "attention_bias", true, "attention_bias is true, and only false is supported"},
      {"llama-nano", "mlp_bias", true, "mlp_bias is true"},
      {"llama-nano", "head_dim", 32, "head_dim is 32, and only 16 is supported"},
      {"llama-nano",
       "rope_scaling",
       {{"rope_type", "yarn"}, {"factor", 2.0}},
       "only default, linear and llama3 are supported"},
      {"llama-nano",
       "rope_scaling",
       {{"rope_type", "linear"}, {"factor", 0.5}},
       "rope_scaling needs a factor of at least 1"},
      {"llama-nano",
       "rope_scaling",
       {{"rope_type", "llama3"}, {"factor", 8.0}},
       "rope_scaling of kind llama3 needs the numbers low_freq_factor"},
      {"llama-nano", "rope_scaling", 3, "only default, linear and llama3 are supported"},
      {"llama-nano", "rope_theta", "high", "rope_theta must be a number above 0"},
      {"llama-nano", "tie_word_embeddings", "no", "tie_word_embeddings must be true or false"},
      {"llama-nano", "num_key_value_heads", 3, "heads 4 is not a multiple of keyValueHeads 3"},
      {"llama-nano", "num_attention_heads", 0,
       "num_attention_heads must be an integer from 1 to 16777216"},
      {"llama-nano", "num_hidden_layers", int64_t{1} << 40, "num_hidden_layers must be an integer"},
      {"llama-nano", "num_hidden_layers", 1 << 24, "layers and only 1048576 tensors"},
      {"llama-nano", "model_type", "mamba",
       "model_type is not supported: it is \"mamba\", and there are gpt2, llama, bloom"},
      {"llama-nano", "model_type", {{"a", 1}}, "model_type is not supported"},
      {"gpt2-nano", "activation_function", "relu", "activation_function is \"relu\""},
      {"gpt2-nano", "n_inner", 100, "n_inner is 100, and only 256 is supported"},
      {"gpt2-nano", "tie_word_embeddings", false, "tie_word_embeddings is false"},
      {"gpt2-nano", "scale_attn_by_inverse_layer_idx", true, "scale_attn_by_inverse_layer_idx"},
      {"bloom-nano", "apply_residual_connection_post_layernorm", true,
       "apply_residual_connection_post_layernorm is true"},
  };
  for (const auto& c : kCases) {
    Json config = ConfigOf(Preset(c.preset));
    config[c.field] = c.value;
    EXPECT_TRUE(absl::StrContains(WhyNot(config), c.message)) << c.field << ": " << WhyNot(config);
  }
  EXPECT_TRUE(absl::StrContains(WhyNot(Json::array()), "it is null"));
}

TEST(ReadModelShapeTest, NullIsAbsent) {
  Json config = ConfigOf(Preset("llama-7b"));
  for (const char* field : {"num_key_value_heads", "head_dim", "attention_bias", "rope_scaling"}) {
    config[field] = nullptr;
  }
  EXPECT_EQ(*ReadModelShape(config, kTensors), Preset("llama-7b"));
}

std::string WhyAnother(const Json& config, const ModelShape& ours) {
  return std::string(
      CheckSameModel(config, ConfigOf(ours), kTensors, "of the tokenizer").message());
}

// The configs are those of BigScience's BLOOM 560M and OpenAI's GPT-2.
TEST(CheckSameModelTest, KnowsTheReleasedSpellings) {
  const Json bloom = *ParseJson(R"({
    "apply_residual_connection_post_layernorm": false, "attention_dropout": 0.0,
    "attention_softmax_in_fp32": true, "bias_dropout_fusion": true, "bos_token_id": 1,
    "eos_token_id": 2, "pad_token_id": 3, "unk_token_id": 0, "hidden_dropout": 0.0,
    "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "masked_softmax_fusion": true,
    "model_type": "bloom", "n_embed": 1024, "n_inner": null, "n_layer": 24,
    "num_attention_heads": 16, "offset_alibi": 100, "pretraining_tp": 1, "seq_length": 2048,
    "skip_bias_add": true, "skip_bias_add_qkv": false, "transformers_version": "4.20.0",
    "use_cache": true, "vocab_size": 1024, "architectures": ["BloomForCausalLM"]})");
  EXPECT_EQ(WhyAnother(bloom, Preset("bloom-560m")), "");
  const Json gpt2 = *ParseJson(R"({
    "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
    "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": null,
    "summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",
    "summary_use_proj": true,
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
    "vocab_size": 1024})");
  EXPECT_EQ(WhyAnother(gpt2, Preset("gpt2-124m")), "");
  // As transformers 5 writes it.
  Json llama = ConfigOf(Preset("llama-3.2-1b"));
  llama["rope_parameters"] = llama["rope_scaling"];
  llama["rope_parameters"]["rope_theta"] = llama["rope_theta"];
  llama.erase("rope_scaling");
  llama.erase("rope_theta");
  EXPECT_EQ(WhyAnother(llama, Preset("llama-3.2-1b")), "");
  llama["rope_parameters"]["rope_theta"] = 10000.0;
  EXPECT_EQ(WhyAnother(llama, Preset("llama-3.2-1b")),
            "it is another model: rope_theta is 10000.0 there, 500000.0 here");
}

TEST(CheckSameModelTest, NamesEveryFieldThatDiffers) {
  ModelShape ours = Preset("gpt2-nano");
  const Json same = ConfigOf(ours);
  ours.dropout = 0.5;
  EXPECT_EQ(WhyAnother(same, ours), "");
  ours.layers += 1;
  ours.vocabulary = 1088;
  EXPECT_EQ(WhyAnother(same, ours),
            "it is another model: n_layer is 3 there, 4 here; vocab_size is 1024 there, 1088 here "
            "(of the tokenizer)");
  EXPECT_EQ(WhyAnother(same, Preset("llama-nano")),
            "it is another model: model_type is \"gpt2\" there, \"llama\" here");
  Json left_out = same;
  left_out.erase("layer_norm_epsilon");
  left_out.erase("tie_word_embeddings");
  EXPECT_EQ(WhyAnother(left_out, Preset("gpt2-nano")), "") << "they have these defaults";
}

TEST(CheckSameModelTest, TheLongestSequenceMayDifferWhereItShapesNoWeight) {
  ModelShape longer = Preset("llama-nano");
  longer.positions *= 2;
  EXPECT_EQ(WhyAnother(ConfigOf(Preset("llama-nano")), longer), "");
  longer = Preset("gpt2-nano");
  longer.positions *= 2;
  EXPECT_NE(WhyAnother(ConfigOf(Preset("gpt2-nano")), longer), "");
}

TEST(CheckSameModelTest, AFieldThatIsNotKnownIsNamedUnlessItSaysNothing) {
  Json config = ConfigOf(Preset("llama-nano"));
  config["sliding_window"] = nullptr;
  config["pruned_heads"] = Json::object();
  EXPECT_EQ(WhyAnother(config, Preset("llama-nano")), "");
  config["sliding_window"] = 4096;
  EXPECT_EQ(WhyAnother(config, Preset("llama-nano")),
            "the checkpoint's model: sliding_window is 4096, and this field is not known here");
  config.erase("sliding_window");
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2}, {"partial", 0.5}};
  EXPECT_EQ(WhyAnother(config, Preset("llama-nano")),
            "the checkpoint's model: rope_scaling has partial, which is not known here");
}

TEST(MakeModelTest, ImpossibleShapesAreRefused) {
  ModelShape odd = Preset("gpt2-nano");
  odd.heads = 5;
  EXPECT_EQ(MakeModel(odd).status(),
            absl::InvalidArgumentError("width 64 is not a multiple of heads 5"));
  ModelShape no_words = Preset("llama-nano");
  no_words.vocabulary = 1;
  EXPECT_EQ(MakeModel(no_words).status(),
            absl::InvalidArgumentError("model: vocabulary is 1, want >= 2"));
}

}  // namespace
}  // namespace muster::trainer
