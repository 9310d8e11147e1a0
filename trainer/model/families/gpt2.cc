#include <memory>
#include <string>
#include <vector>

#include "ATen/TensorOperators.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "trainer/model/families/config_reader.h"
#include "trainer/model/families/family.h"
#include "trainer/model/layers/activation.h"
#include "trainer/model/layers/attention.h"
#include "trainer/model/layers/dropout.h"
#include "trainer/model/layers/embedding.h"
#include "trainer/model/layers/head.h"
#include "trainer/model/layers/layered_block.h"
#include "trainer/model/layers/linear.h"
#include "trainer/model/layers/norm.h"
#include "trainer/model/layers/tensor_parallel.h"

namespace muster::trainer {
namespace {

using planner::ModelShape;

class Gpt2Embedding final : public LayeredBlock {
 public:
  explicit Gpt2Embedding(const ModelShape& s)
      : LayeredBlock("embedding"),
        dropout_(s.dropout),
        tokens_(parameters_, "transformer.wte", s.vocabulary, s.width, kDeviation,
                VocabularyParallel(s.vocabulary)),
        positions_(parameters_, "transformer.wpe", s.positions, s.width, kDeviation) {}

  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    const at::Tensor x =
        tokens_.OfTokens(context) + positions_(OwnRun(context.positions, 0, context));
    return {.tensors = {Dropout(x, {dropout_, 0, DropoutSite::kEmbedding}, context)}};
  }

  int64_t cost() const override { return 0; }  // it looks rows up

 private:
  const double dropout_;
  const Embedding tokens_;
  const Embedding positions_;
};

// Linear weights are [in, out], as in the original's Conv1D.
LinearOptions Conv1d(int64_t in, int64_t out, double deviation) {
  return {in, out, LinearOptions::Layout::kInOut, /*bias=*/true, deviation};
}

class Gpt2Layer final : public LayeredBlock {
 public:
  Gpt2Layer(const ModelShape& s, int layer, const std::string& h)
      : LayeredBlock(absl::StrCat("layer ", layer)),
        place_{.probability = s.dropout, .layer = layer + 1},
        heads_(s.heads),
        norm_1_(parameters_, h + "ln_1", Norm::Kind::kLayerNorm, s.width, s.norm_epsilon),
        qkv_(parameters_, h + "attn.c_attn",
             ColumnParallel(Conv1d(s.width, 3 * s.width, kDeviation), s.heads, 3)),
        projection_(parameters_, h + "attn.c_proj",
                    RowParallel(Conv1d(s.width, s.width, ResidualDeviation(s)), s.heads)),
        norm_2_(parameters_, h + "ln_2", Norm::Kind::kLayerNorm, s.width, s.norm_epsilon),
        up_(parameters_, h + "mlp.c_fc",
            ColumnParallel(Conv1d(s.width, 4 * s.width, kDeviation), 4 * s.width)),
        down_(parameters_, h + "mlp.c_proj",
              RowParallel(Conv1d(4 * s.width, s.width, ResidualDeviation(s)), 4 * s.width)) {}

  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    const int64_t batch = inputs[0].size(0);
    const Norm::Fork a = norm_1_.ForkOf(inputs[0], context.compute_type);
    const AttentionInputs qkv = SplitHeads(qkv_(WholeRows(a.normalized, context), context), batch,
                                           heads_ / PartOf(context).count, HeadOrder::kByPart);
    const at::Tensor o = Attend(qkv, At(DropoutSite::kAttention), context);
    const Norm::Fork b = norm_2_.AddAndFork(
        a.stream, Residual(projection_(o, context), a.stream, DropoutSite::kProjection, context),
        context.compute_type);
    const at::Tensor m = Gelu(up_(WholeRows(b.normalized, context), context));
    const at::Tensor x =
        b.stream + Residual(down_(m, context), b.stream, DropoutSite::kMlp, context);
    return {.tensors = {x}};
  }
  bool can_split_backward() const override { return true; }

 private:
  DropoutPlace At(DropoutSite site) const { return {place_.probability, place_.layer, site}; }
  at::Tensor Residual(const at::Tensor& y, const at::Tensor& like, DropoutSite site,
                      const MicroBatchContext& context) const {
    return Dropout(y.view(like.sizes()), At(site), context);
  }

  const DropoutPlace place_;
  const int64_t heads_;
  const Norm norm_1_;
  const Linear qkv_;
  const Linear projection_;
  const Norm norm_2_;
  const Linear up_;
  const Linear down_;
};

std::vector<std::unique_ptr<Block>> Make(const ModelShape& shape) {
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(std::make_unique<Gpt2Embedding>(shape));
  for (int layer = 0; layer < shape.layers; ++layer) {
    blocks.push_back(
        std::make_unique<Gpt2Layer>(shape, layer, absl::StrCat("transformer.h.", layer, ".")));
  }
  blocks.push_back(MakeHead(shape, {.norm = "transformer.ln_f",
                                    .norm_kind = Norm::Kind::kLayerNorm,
                                    .weight = "transformer.wte.weight",
                                    .deviation = kDeviation}));
  return blocks;
}

Json Config(const ModelShape& s) {
  return {{"activation_function", "gelu_new"},
          {"architectures", Json::array({"GPT2LMHeadModel"})},
          {"attn_pdrop", s.dropout},
          {"embd_pdrop", s.dropout},
          {"initializer_range", kDeviation},
          {"layer_norm_epsilon", s.norm_epsilon},
          {"model_type", "gpt2"},
          {"n_ctx", s.positions},
          {"n_embd", s.width},
          {"n_head", s.heads},
          {"n_layer", s.layers},
          {"n_positions", s.positions},
          {"resid_pdrop", s.dropout},
          {"tie_word_embeddings", true},
          {"vocab_size", s.vocabulary}};
}

void Rename(Json& config) {
  RenameField(config, "hidden_size", "n_embd");
  RenameField(config, "max_position_embeddings", "n_positions");
  RenameField(config, "num_attention_heads", "n_head");
  RenameField(config, "num_hidden_layers", "n_layer");
}

ModelShape Read(ConfigReader& config) {
  ModelShape shape{.layers = config.Integer("n_layer"),
                   .heads = config.Integer("n_head"),
                   .width = config.Integer("n_embd"),
                   .positions = config.Integer("n_positions"),
                   .norm_epsilon = config.NumberOr("layer_norm_epsilon", 1e-5)};
  config.Requires("activation_function", "gelu_new");
  config.Requires("tie_word_embeddings", true);
  config.Requires("n_inner", 4 * int64_t{shape.width});
  config.Requires("scale_attn_weights", true);
  config.Requires("scale_attn_by_inverse_layer_idx", false);
  config.Requires("add_cross_attention", false);
  return shape;
}

}  // namespace

Family Gpt2Family() { return {planner::ModelFamily::kGpt2, Make, Config, Rename, Read}; }

}  // namespace muster::trainer
