#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "trainer/model/families/config_reader.h"
#include "trainer/model/families/family.h"
#include "trainer/model/layers/activation.h"
#include "trainer/model/layers/alibi.h"
#include "trainer/model/layers/attention.h"
#include "trainer/model/layers/dropout.h"
#include "trainer/model/layers/embedding.h"
#include "trainer/model/layers/head.h"
#include "trainer/model/layers/layered_block.h"
#include "trainer/model/layers/linear.h"
#include "trainer/model/layers/norm.h"
#include "trainer/model/layers/tensor_parallel.h"
#include "trainer/model/partition.h"

namespace muster::trainer {
namespace {

using planner::ModelShape;

constexpr char kEmbedding[] = "transformer.word_embeddings";
constexpr Norm::Kind kLayerNorm = Norm::Kind::kLayerNorm;

class BloomEmbedding final : public LayeredBlock {
 public:
  explicit BloomEmbedding(const ModelShape& s)
      : LayeredBlock("embedding"),
        tokens_(parameters_, kEmbedding, s.vocabulary, s.width, kDeviation,
                VocabularyParallel(s.vocabulary)),
        norm_(parameters_, "transformer.word_embeddings_layernorm", kLayerNorm, s.width,
              s.norm_epsilon) {}

  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    return {.tensors = {norm_(tokens_.OfTokens(context))}};
  }

  int64_t cost() const override { return 0; }  // it looks rows up

 private:
  const Embedding tokens_;
  const Norm norm_;
};

LinearOptions WithBias(int64_t in, int64_t out, double deviation) {
  return {in, out, LinearOptions::Layout::kOutIn, /*bias=*/true, deviation};
}

class BloomLayer final : public LayeredBlock {
 public:
  BloomLayer(const ModelShape& s, int layer, const std::string& h,
             std::shared_ptr<AlibiTable> alibi)
      : LayeredBlock(absl::StrCat("layer ", layer)),
        place_{.probability = s.dropout, .layer = layer + 1},
        heads_(s.heads),
        alibi_(std::move(alibi)),
        norm_1_(parameters_, h + "input_layernorm", kLayerNorm, s.width, s.norm_epsilon),
        qkv_(parameters_, h + "self_attention.query_key_value",
             ColumnParallel(WithBias(s.width, 3 * s.width, kDeviation), s.heads)),
        projection_(parameters_, h + "self_attention.dense",
                    RowParallel(WithBias(s.width, s.width, ResidualDeviation(s)), s.heads)),
        norm_2_(parameters_, h + "post_attention_layernorm", kLayerNorm, s.width, s.norm_epsilon),
        up_(parameters_, h + "mlp.dense_h_to_4h",
            ColumnParallel(WithBias(s.width, 4 * s.width, kDeviation), 4 * s.width)),
        down_(parameters_, h + "mlp.dense_4h_to_h",
              RowParallel(WithBias(4 * s.width, s.width, ResidualDeviation(s)), 4 * s.width)) {}

  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    const int64_t batch = inputs[0].size(0);
    const int64_t heads = heads_ / PartOf(context).count;
    const Norm::Fork a = norm_1_.ForkOf(inputs[0], context.compute_type);
    AttentionInputs qkv = SplitHeads(qkv_(WholeRows(a.normalized, context), context), batch, heads,
                                     HeadOrder::kByHead);
    qkv.alibi = alibi_;
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
  const std::shared_ptr<AlibiTable> alibi_;
  const Norm norm_1_;
  const Linear qkv_;
  const Linear projection_;
  const Norm norm_2_;
  const Linear up_;
  const Linear down_;
};

std::vector<std::unique_ptr<Block>> Make(const ModelShape& shape) {
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(std::make_unique<BloomEmbedding>(shape));
  const auto alibi = std::make_shared<AlibiTable>(shape.heads);
  for (int layer = 0; layer < shape.layers; ++layer) {
    const std::string h = absl::StrCat("transformer.h.", layer, ".");
    blocks.push_back(std::make_unique<BloomLayer>(shape, layer, h, alibi));
  }
  blocks.push_back(MakeHead(
      shape, {"transformer.ln_f", kLayerNorm, absl::StrCat(kEmbedding, ".weight"), kDeviation}));
  return blocks;
}

Json Config(const ModelShape& s) {
  return {{"apply_residual_connection_post_layernorm", false},
          {"architectures", Json::array({"BloomForCausalLM"})},
          {"attention_dropout", s.dropout},
          {"hidden_dropout", s.dropout},
          {"hidden_size", s.width},
          {"initializer_range", kDeviation},
          {"layer_norm_epsilon", s.norm_epsilon},
          {"model_type", "bloom"},
          {"n_head", s.heads},
          {"n_layer", s.layers},
          {"seq_length", s.positions},
          {"tie_word_embeddings", true},
          {"vocab_size", s.vocabulary}};
}

void Rename(Json& config) {
  RenameField(config, "n_embed", "hidden_size");
  RenameField(config, "num_attention_heads", "n_head");
  RenameField(config, "num_hidden_layers", "n_layer");
}

ModelShape Read(ConfigReader& config) {
  ModelShape shape{.layers = config.Integer("n_layer"),
                   .heads = config.Integer("n_head"),
                   .width = config.Integer("hidden_size"),
                   .positions = config.IntegerOr("seq_length", 2048),
                   .norm_epsilon = config.NumberOr("layer_norm_epsilon", 1e-5)};
  config.Requires("apply_residual_connection_post_layernorm", false);
  config.Requires("tie_word_embeddings", true);
  config.Requires("n_inner", 4 * int64_t{shape.width});
  return shape;
}

}  // namespace

Family BloomFamily() { return {planner::ModelFamily::kBloom, Make, Config, Rename, Read}; }

}  // namespace muster::trainer
