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

// Regression: rope_parameters without a base wrote null over the one at the top, and stood for a
// rope_scaling beside it, so that another model was trained. transformers 5 reads them like this.
TEST(CheckSameModelTest, RotaryPositionsAreReadFromAllFieldsInTheOrderOfTransformers) {
  const ModelShape plain = Preset("llama-nano");
  ModelShape other = plain;
  other.rope_theta = 500000;
  Json at_the_top = ConfigOf(other);
  at_the_top["rope_parameters"] = {{"rope_type", "default"}};
  at_the_top.erase("rope_scaling");
  EXPECT_EQ(WhyAnother(at_the_top, other), "");
  EXPECT_EQ(WhyAnother(at_the_top, plain),
            "it is another model: rope_theta is 500000.0 there, 10000.0 here");
  at_the_top["rope_parameters"] = {{"rope_theta", 500000.0}};
  at_the_top.erase("rope_theta");
  EXPECT_EQ(WhyAnother(at_the_top, other), "") << "without a type it is the default";
  at_the_top["rope_theta"] = 10000.0;
  EXPECT_EQ(WhyAnother(at_the_top, other), "") << "the base beside the type comes first";

  other = plain;
  other.rope_scaling = {.kind = RopeScaling::Kind::kLinear, .factor = 4};
  Json both = ConfigOf(other);
  both["rope_scaling"] = {{"type", "linear"}, {"factor", 4.0}};
  both["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000.0}};
  EXPECT_EQ(WhyAnother(both, other), "");
  EXPECT_NE(WhyAnother(both, plain), "");
  both["rope_scaling"] = Json::object();
  EXPECT_EQ(WhyAnother(both, plain), "") << "an empty object says nothing";
  both["rope_parameters"] = {{"factor", 4.0}};
  EXPECT_NE(WhyAnother(both, plain), "") << "a factor of what?";
}

TEST(ReadModelShapeTest, AnotherNameThatIsNullChangesNothing) {
  Json config = ConfigOf(Preset("bloom-nano"));
  config["n_embed"] = nullptr;
  EXPECT_EQ(*ReadModelShape(config, kTensors), Preset("bloom-nano"));
}

// The names of fields in released files, beside those that say the shape, which ours have. Each
// file is one that transformers loads and computes with as if these fields were not there.
constexpr const char* kReleasedFields[] = {
    // gpt2-medium, gpt2-large and gpt2-xl
    R"({"model": "gpt2-nano", "n_special": 0, "predict_special_tokens": true,
        "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
        "summary_type": "cls_index", "summary_use_proj": true, "output_past": true,
        "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}})",
    // distilgpt2
    R"({"model": "gpt2-nano", "_num_labels": 1, "id2label": {"0": "LABEL_0"},
        "label2id": {"LABEL_0": 0}, "output_past": true})",
    // transformers 2 of a Chinese and of a Russian GPT-2
    R"({"model": "gpt2-nano", "finetuning_task": null, "num_labels": 1, "output_attentions": false,
        "output_hidden_states": false, "output_past": true, "pruned_heads": {},
        "torchscript": false, "use_bfloat16": false, "is_decoder": true, "return_dict": true,
        "tokenizer_class": "BertTokenizer", "gradient_checkpointing": false})",
    // save_pretrained of early releases, which wrote every field of the base class
    R"({"model": "gpt2-nano", "add_cross_attention": false, "bad_words_ids": null,
        "begin_suppress_tokens": null, "chunk_size_feed_forward": 0,
        "cross_attention_hidden_size": null, "decoder_start_token_id": null,
        "diversity_penalty": 0.0, "do_sample": false, "early_stopping": false,
        "encoder_no_repeat_ngram_size": 0, "exponential_decay_length_penalty": null,
        "forced_bos_token_id": null, "forced_eos_token_id": null, "is_encoder_decoder": false,
        "length_penalty": 1.0, "min_length": 0, "no_repeat_ngram_size": 0, "num_beam_groups": 1,
        "num_beams": 1, "num_return_sequences": 1, "output_scores": false, "prefix": null,
        "problem_type": null, "remove_invalid_values": false, "repetition_penalty": 1.0,
        "return_dict_in_generate": false, "sep_token_id": null, "suppress_tokens": null,
        "temperature": 1.0, "tf_legacy_loss": false, "tie_encoder_decoder": false, "top_k": 50,
        "top_p": 1.0, "typical_p": 1.0, "use_return_dict": true, "transformers_version": "4.30.2"})",
    // SmolLM2-135M
    R"({"model": "llama-nano", "is_llama_config": true, "rope_interleaved": false,
        "pretraining_tp": 1, "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}})",
    // unsloth's copies of Llama 3
    R"({"model": "llama-nano", "unsloth_fixed": true, "unsloth_version": "2024.9",
        "pad_token_id": 128004, "_name_or_path": "meta-llama/Llama-3.2-1B"})",
    // LLaMA 1 and Vicuna
    R"({"model": "llama-nano", "max_sequence_length": 2048, "tokenizer_model_max_length": 4096,
        "tokenizer_padding_side": "right", "_flash_attn_2_enabled": true})",
    // fine-tunes of several trainers
    R"({"model": "llama-nano", "attn_implementation": "sdpa", "gradient_checkpointing_kwargs": {},
        "model_max_length": 4096, "neftune_noise_alpha": 5, "name_or_path": "x",
        "use_flash_attn": true, "use_sliding_window": false, "quantization_config": null})",
    // BLOOM
    R"({"model": "bloom-nano", "attention_softmax_in_fp32": true, "bias_dropout_fusion": true,
        "masked_softmax_fusion": true, "offset_alibi": 100, "pretraining_tp": 4,
        "skip_bias_add": true, "skip_bias_add_qkv": false, "slow_but_exact": false,
        "unk_token_id": 0, "use_cache": true, "n_inner": null, "num_attention_heads": 4})",
};

// Regression: gpt2-medium, a preset, could not be started from for the field n_special.
TEST(CheckSameModelTest, FieldsOfReleasedFilesThatChangeNothingAreNotRefused) {
  for (const char* text : kReleasedFields) {
    Json fields = *ParseJson(text);
    const ModelShape shape = Preset(fields["model"].get<std::string>());
    fields.erase("model");
    Json config = ConfigOf(shape);
    for (const auto& [field, value] : fields.items()) config[field] = value;
    EXPECT_EQ(WhyAnother(config, shape), "") << text;
  }
}

TEST(CheckSameModelTest, FieldsThatMayChangeTheModelAreRefused) {
  const ModelShape shape = Preset("llama-nano");
  const Json kRefused[] = {{{"rope_interleaved", true}},
                           {{"is_encoder_decoder", true}},
                           {{"partial_rotary_factor", 0.5}},
                           {{"sliding_window", 128}},
                           {{"quantization_config", {{"bits", 4}}}},
                           {{"pruned_heads", {{"0", {1}}}}}};
  for (const Json& fields : kRefused) {
    Json config = ConfigOf(shape);
    for (const auto& [field, value] : fields.items()) {
      config[field] = value;
      EXPECT_EQ(WhyAnother(config, shape), "the checkpoint's model: " + field + " is " +
                                               DumpJson(value) +
                                               ", and this field is not known here");
    }
  }
}

// Regression: no field of the manifest set what a llama of another epsilon needs.
TEST(CheckSameModelTest, ALlamaOfAnotherEpsilonCanBeStartedFrom) {
  v1alpha1::ModelSpec spec;
  spec.set_preset("llama-nano");
  spec.set_norm_epsilon(1e-6);
  const ModelShape ours = *planner::ResolveModel(spec, 1024);
  Json config = ConfigOf(Preset("llama-nano"));
  config["rms_norm_eps"] = 1e-6;
  EXPECT_EQ(WhyAnother(config, ours), "");
  EXPECT_EQ(WhyAnother(config, Preset("llama-nano")),
            "it is another model: rms_norm_eps is 1e-06 there, 1e-05 here (model.normEpsilon)");
}

// Regression: only the first was named.
TEST(CheckSameModelTest, EverythingThatDiffersIsNamedAtOnce) {
  ModelShape ours = Preset("llama-nano");
  Json config = ConfigOf(ours);
  ours.norm_epsilon = 1e-6;
  config["hidden_act"] = "gelu";
  config["sliding_window"] = 128;
  config["strange"] = "x";
  EXPECT_EQ(WhyAnother(config, ours),
            "it is another model: rms_norm_eps is 1e-05 there, 1e-06 here (model.normEpsilon); "
            "hidden_act is \"gelu\", and only \"silu\" is supported; sliding_window is 128, "
            "strange is \"x\", and these fields are not known here");
  config["rope_theta"] = "high";
  config["hidden_size"] = 0;
  EXPECT_EQ(WhyAnother(config, ours),
            "the checkpoint's model: hidden_size must be an integer from 1 to 16777216; rope_theta "
            "must be a number above 0");
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
