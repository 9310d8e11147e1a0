#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "trainer/model/families/config_reader.h"
#include "trainer/model/families/family.h"
#include "trainer/model/families/rope_config.h"
#include "trainer/model/layers/activation.h"
#include "trainer/model/layers/attention.h"
#include "trainer/model/layers/dropout.h"
#include "trainer/model/layers/embedding.h"
#include "trainer/model/layers/head.h"
#include "trainer/model/layers/layered_block.h"
#include "trainer/model/layers/linear.h"
#include "trainer/model/layers/norm.h"
#include "trainer/model/layers/rope.h"
#include "trainer/model/layers/tensor_parallel.h"

namespace muster::trainer {
namespace {

using planner::ModelShape;

constexpr char kEmbedding[] = "model.embed_tokens";
constexpr Norm::Kind kRmsNorm = Norm::Kind::kRmsNorm;

class LlamaEmbedding final : public LayeredBlock {
 public:
  explicit LlamaEmbedding(const ModelShape& s)
      : LayeredBlock("embedding"),
        tokens_(parameters_, kEmbedding, s.vocabulary, s.width, kDeviation,
                VocabularyParallel(s.vocabulary)) {}

  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    return {.tensors = {tokens_.OfTokens(context)}};
  }

  int64_t cost() const override { return 0; }  // it looks rows up

 private:
  const Embedding tokens_;
};

LinearOptions NoBias(int64_t in, int64_t out, double deviation = kDeviation) {
  return {in, out, LinearOptions::Layout::kOutIn, /*bias=*/false, deviation};
}

class LlamaLayer final : public LayeredBlock {
 public:
  LlamaLayer(const ModelShape& s, int layer, const std::string& h, std::shared_ptr<RopeTable> rope)
      : LayeredBlock(absl::StrCat("layer ", layer)),
        dropout_{s.dropout, layer + 1, DropoutSite::kAttention},
        head_width_(s.head_width()),
        rope_(std::move(rope)),
        norm_1_(parameters_, h + "input_layernorm", kRmsNorm, s.width, s.norm_epsilon),
        q_(parameters_, h + "self_attn.q_proj",
           ColumnParallel(NoBias(s.width, s.width), s.key_value_heads)),
        k_(parameters_, h + "self_attn.k_proj",
           ColumnParallel(NoBias(s.width, s.key_value_width()), s.key_value_heads)),
        v_(parameters_, h + "self_attn.v_proj",
           ColumnParallel(NoBias(s.width, s.key_value_width()), s.key_value_heads)),
        o_(parameters_, h + "self_attn.o_proj",
           RowParallel(NoBias(s.width, s.width, ResidualDeviation(s)), s.key_value_heads)),
        norm_2_(parameters_, h + "post_attention_layernorm", kRmsNorm, s.width, s.norm_epsilon),
        gate_(parameters_, h + "mlp.gate_proj",
              ColumnParallel(NoBias(s.width, s.feed_forward_width), s.feed_forward_width)),
        up_(parameters_, h + "mlp.up_proj",
            ColumnParallel(NoBias(s.width, s.feed_forward_width), s.feed_forward_width)),
        down_(parameters_, h + "mlp.down_proj",
              RowParallel(NoBias(s.feed_forward_width, s.width, ResidualDeviation(s)),
                          s.feed_forward_width)) {}

  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    const int64_t batch = context.tokens.size(0), sequence = context.tokens.size(1);
    const Norm::Fork a = norm_1_.ForkOf(inputs[0], context.compute_type);
    const LinearInput rows(WholeRows(a.normalized, context));
    const auto heads = [&](const Linear& linear) {
      return linear(rows, context).view({batch, sequence, -1, head_width_}).transpose(1, 2);
    };
    const RopeAngles& angles = rope_->For(context.positions, a.stream.scalar_type());
    const at::Tensor o = Attend({Turn(heads(q_), angles), Turn(heads(k_), angles), heads(v_), {}},
                                dropout_, context);
    const Norm::Fork b = norm_2_.AddAndFork(a.stream, o_(o, context), context.compute_type);
    const LinearInput n(WholeRows(b.normalized, context));
    const at::Tensor x =
        b.stream +
        down_(SwiGlu(gate_(n, context), up_(n, context)), context).view(b.stream.sizes());
    return {.tensors = {x}};
  }
  bool can_split_backward() const override { return true; }

 private:
  const DropoutPlace dropout_;
  const int64_t head_width_;
  const std::shared_ptr<RopeTable> rope_;
  const Norm norm_1_;
  const Linear q_, k_, v_, o_;
  const Norm norm_2_;
  const Linear gate_, up_, down_;
};

std::vector<std::unique_ptr<Block>> Make(const ModelShape& shape) {
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(std::make_unique<LlamaEmbedding>(shape));
  const auto rope = std::make_shared<RopeTable>(shape);
  for (int layer = 0; layer < shape.layers; ++layer) {
    const std::string h = absl::StrCat("model.layers.", layer, ".");
    blocks.push_back(std::make_unique<LlamaLayer>(shape, layer, h, rope));
  }
  blocks.push_back(MakeHead(
      shape,
      {"model.norm", kRmsNorm,
       shape.tied_head ? absl::StrCat(kEmbedding, ".weight") : "lm_head.weight", kDeviation}));
  return blocks;
}

Json Config(const ModelShape& s) {
  return {{"architectures", Json::array({"LlamaForCausalLM"})},
          {"attention_bias", false},
          {"attention_dropout", s.dropout},
          {"head_dim", s.head_width()},
          {"hidden_act", "silu"},
          {"hidden_size", s.width},
          {"initializer_range", kDeviation},
          {"intermediate_size", s.feed_forward_width},
          {"max_position_embeddings", s.positions},
          {"mlp_bias", false},
          {"model_type", "llama"},
          {"num_attention_heads", s.heads},
          {"num_hidden_layers", s.layers},
          {"num_key_value_heads", s.key_value_heads},
          {"rms_norm_eps", s.norm_epsilon},
          {"rope_scaling", RopeScalingJson(s.rope_scaling)},
          {"rope_theta", s.rope_theta},
          {"tie_word_embeddings", s.tied_head},
          {"vocab_size", s.vocabulary}};
}

// Reads the rotary positions as transformers 5 does: rope_scaling, if it says anything, stands for
// all of rope_parameters, and the base beside the scaling comes before the one at the top.
void Rename(Json& config) {
  const Json scaling = config.value("rope_scaling", Json());
  if (scaling.is_null() || scaling == Json::object()) {
    config.erase("rope_scaling");
    RenameField(config, "rope_parameters", "rope_scaling");
  } else {
    config.erase("rope_parameters");
  }
  const Json rope = config.value("rope_scaling", Json());
  if (!rope.is_object()) return;
  if (const Json theta = rope.value("rope_theta", Json()); !theta.is_null()) {
    config["rope_theta"] = theta;
  }
}

ModelShape Read(ConfigReader& config) {
  ModelShape shape{.layers = config.Integer("num_hidden_layers"),
                   .heads = config.Integer("num_attention_heads"),
                   .width = config.Integer("hidden_size"),
                   .positions = config.IntegerOr("max_position_embeddings", 2048),
                   .norm_epsilon = config.NumberOr("rms_norm_eps", 1e-6),
                   .tied_head = config.BoolOr("tie_word_embeddings", false),
                   .feed_forward_width = config.Integer("intermediate_size"),
                   .rope_theta = config.NumberOr("rope_theta", 10000),
                   .rope_scaling = ReadRopeScaling(config)};
  shape.key_value_heads = config.IntegerOr("num_key_value_heads", shape.heads);
  config.Requires("head_dim", shape.width / shape.heads);
  config.Requires("hidden_act", "silu");
  config.Requires("attention_bias", false);
  config.Requires("mlp_bias", false);
  return shape;
}

}  // namespace

Family LlamaFamily() { return {planner::ModelFamily::kLlama, Make, Config, Rename, Read}; }

}  // namespace muster::trainer
