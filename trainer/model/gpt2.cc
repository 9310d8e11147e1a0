#include "trainer/model/gpt2.h"

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/core/Reduction.h"
#include "ATen/core/Tensor.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/embedding.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/gelu.h"
#include "ATen/ops/layer_norm.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/scaled_dot_product_attention.h"
#include "ATen/ops/softmax.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/model/linear.h"
#include "trainer/model/parameter.h"
#include "trainer/random/fill.h"

namespace muster::trainer {
namespace {

constexpr double kLayerNormEpsilon = 1e-5;
constexpr double kDeviation = 0.02;

enum DropoutSite : int32_t { kEmbeddingSite, kAttentionSite, kProjectionSite, kMlpSite };

// Multiplies by a mask that FillDropout draws; the samples lie along the first dimension of `x`.
at::Tensor Dropout(const at::Tensor& x, double p, int32_t layer, DropoutSite site,
                   const MicroBatchContext& context) {
  if (!context.training || p <= 0.0) return x;
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor mask = at::empty(x.sizes(), x.options().dtype(type).requires_grad(false));
  const DropoutKey key{.seed = context.seed, .step = context.step, .layer = layer, .site = site};
  const auto size = static_cast<size_t>(mask.numel());
  if (type == at::kDouble) {
    FillDropout(key, p, context.samples, std::span(mask.mutable_data_ptr<double>(), size));
  } else {
    FillDropout(key, p, context.samples, std::span(mask.mutable_data_ptr<float>(), size));
  }
  return x * mask;
}

// The Conv1D of the original: weight is [in, out], x is [rows, in].
at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  const MicroBatchContext& context) {
  const auto type = context.compute_type;
  return LinearInOut(x.to(type), weight.to(type), bias.to(type));
}

ParameterSpec Weight(std::string name, std::vector<int64_t> shape, double deviation) {
  return {.name = std::move(name),
          .shape = std::move(shape),
          .init = {Initialization::Kind::kNormal, deviation},
          .decay = true};
}
ParameterSpec Bias(std::string name, int64_t size) {
  return {.name = std::move(name), .shape = {size}, .init = {Initialization::Kind::kZeros}};
}
ParameterSpec Gain(std::string name, int64_t size) {
  return {.name = std::move(name), .shape = {size}, .init = {Initialization::Kind::kOnes}};
}

// The members that all three kinds of block share.
class Gpt2Block : public Block {
 public:
  explicit Gpt2Block(const Gpt2Config& config) : config_(config) {}
  const std::vector<ParameterSpec>& parameters() const override { return specs_; }
  void Bind(std::vector<at::Tensor> views) override { p_ = std::move(views); }

 protected:
  at::Tensor Norm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias) const {
    return at::layer_norm(x, {config_.width}, gain, bias, kLayerNormEpsilon);
  }

  const Gpt2Config config_;
  std::vector<ParameterSpec> specs_;
  std::vector<at::Tensor> p_;
};

class EmbeddingBlock final : public Gpt2Block {
 public:
  explicit EmbeddingBlock(const Gpt2Config& config) : Gpt2Block(config) {
    specs_ = {
        Weight("transformer.wte.weight", {config.vocabulary, config.width}, kDeviation),
        Weight("transformer.wpe.weight", {config.positions, config.width}, kDeviation),
    };
  }
  std::string name() const override { return "embedding"; }
  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    const at::Tensor x =
        at::embedding(p_[0], context.tokens) + at::embedding(p_[1], context.positions);
    return {.tensors = {Dropout(x, config_.dropout, 0, kEmbeddingSite, context)}};
  }
};

class TransformerBlock final : public Gpt2Block {
 public:
  TransformerBlock(const Gpt2Config& config, int layer) : Gpt2Block(config), layer_(layer) {
    const int64_t d = config.width;
    const double residual = kDeviation / std::sqrt(2.0 * config.layers);
    const std::string h = absl::StrCat("transformer.h.", layer, ".");
    specs_ = {
        Gain(h + "ln_1.weight", d),
        Bias(h + "ln_1.bias", d),
        Weight(h + "attn.c_attn.weight", {d, 3 * d}, kDeviation),
        Bias(h + "attn.c_attn.bias", 3 * d),
        Weight(h + "attn.c_proj.weight", {d, d}, residual),
        Bias(h + "attn.c_proj.bias", d),
        Gain(h + "ln_2.weight", d),
        Bias(h + "ln_2.bias", d),
        Weight(h + "mlp.c_fc.weight", {d, 4 * d}, kDeviation),
        Bias(h + "mlp.c_fc.bias", 4 * d),
        Weight(h + "mlp.c_proj.weight", {4 * d, d}, residual),
        Bias(h + "mlp.c_proj.bias", d),
    };
  }
  std::string name() const override { return absl::StrCat("layer ", layer_); }

  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    at::Tensor x = inputs[0];
    const int64_t batch = x.size(0), sequence = x.size(1), width = x.size(2);
    const at::Tensor a = Norm(x, p_[0], p_[1]).view({-1, width});
    const at::Tensor o = Attention(Linear(a, p_[2], p_[3], context), batch, sequence, context);
    x = x + Residual(Linear(o, p_[4], p_[5], context), x, kProjectionSite, context);
    const at::Tensor b = Norm(x, p_[6], p_[7]).view({-1, width});
    const at::Tensor m = at::gelu(Linear(b, p_[8], p_[9], context), "tanh");
    x = x + Residual(Linear(m, p_[10], p_[11], context), x, kMlpSite, context);
    return {.tensors = {x}};
  }

 private:
  at::Tensor Residual(const at::Tensor& y, const at::Tensor& like, DropoutSite site,
                      const MicroBatchContext& context) const {
    return Dropout(y.view(like.sizes()), config_.dropout, layer_ + 1, site, context);
  }

  // qkv: [rows, 3 * width]; returns [rows, width].
  at::Tensor Attention(const at::Tensor& qkv, int64_t batch, int64_t sequence,
                       const MicroBatchContext& context) const {
    const int64_t head = config_.width / config_.heads;
    const std::vector<at::Tensor> parts =
        qkv.view({batch, sequence, 3, config_.heads, head}).permute({2, 0, 3, 1, 4}).unbind(0);
    at::Tensor o;
    if (context.training && config_.dropout > 0.0) {
      o = AttentionWithDropout(parts, sequence, head, context);
    } else {
      o = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true);
    }
    return o.transpose(1, 2).reshape({batch * sequence, config_.width});
  }

  // Writes the probabilities out, because the flash kernel cannot use FillDropout's masks.
  at::Tensor AttentionWithDropout(const std::vector<at::Tensor>& qkv, int64_t sequence,
                                  int64_t head, const MicroBatchContext& context) const {
    const double scale = 1.0 / std::sqrt(static_cast<double>(head));
    const at::Tensor future =
        at::ones({sequence, sequence}, qkv[0].options().dtype(at::kBool)).triu(1);
    const at::Tensor scores = at::matmul(qkv[0] * scale, qkv[1].transpose(-1, -2));
    const auto wide = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor probabilities = at::softmax(
        scores.to(wide).masked_fill(future, -std::numeric_limits<double>::infinity()), -1);
    const at::Tensor kept =
        Dropout(probabilities, config_.dropout, layer_ + 1, kAttentionSite, context);
    return at::matmul(kept.to(qkv[2].scalar_type()), qkv[2]);
  }

  const int layer_;
};

class HeadBlock final : public Gpt2Block {
 public:
  explicit HeadBlock(const Gpt2Config& config) : Gpt2Block(config) {
    specs_ = {
        Gain("transformer.ln_f.weight", config.width),
        Bias("transformer.ln_f.bias", config.width),
        Weight("transformer.wte.weight", {config.vocabulary, config.width}, kDeviation),
    };
  }
  std::string name() const override { return "head"; }
  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    if (!context.labels.defined()) return {.tensors = {NextLogits(inputs[0])}};
    const auto type = context.compute_type;
    const at::Tensor x = Norm(inputs[0], p_[0], p_[1]).view({-1, config_.width});
    const at::Tensor logits = LinearOutIn(x.to(type), p_[2].to(type));
    const auto wide = type == at::kDouble ? at::kDouble : at::kFloat;
    return {.tensors = {at::cross_entropy_loss(logits.to(wide), context.labels.view({-1}), {},
                                               at::Reduction::Sum, kIgnoredLabel)}};
  }

 private:
  at::Tensor NextLogits(const at::Tensor& x) const {
    const at::Tensor last = x.select(1, x.size(1) - 1);
    return LinearOutIn(Norm(last, p_[0], p_[1]), p_[2]);
  }
};

std::string ConfigJson(const Gpt2Config& c) {
  return absl::StrFormat(
      R"({"activation_function":"gelu_new","architectures":["GPT2LMHeadModel"],"attn_pdrop":%g,)"
      R"("embd_pdrop":%g,"initializer_range":0.02,"layer_norm_epsilon":1e-05,"model_type":"gpt2",)"
      R"("n_ctx":%d,"n_embd":%d,"n_head":%d,"n_layer":%d,"n_positions":%d,"resid_pdrop":%g,)"
      R"("tie_word_embeddings":true,"vocab_size":%d})",
      c.dropout, c.dropout, c.positions, c.width, c.heads, c.layers, c.positions, c.dropout,
      c.vocabulary);
}

absl::Status Check(const Gpt2Config& c) {
  const auto refuse = [](std::string what) { return absl::InvalidArgumentError(what); };
  if (c.layers < 1) return refuse(absl::StrCat("model: layers is ", c.layers, ", want >= 1"));
  if (c.heads < 1) return refuse(absl::StrCat("model: heads is ", c.heads, ", want >= 1"));
  if (c.width < 1 || c.width % c.heads != 0) {
    return refuse(absl::StrCat("model: width ", c.width, " is not divisible by heads ", c.heads));
  }
  if (c.positions < 1) {
    return refuse(absl::StrCat("model: positions is ", c.positions, ", want >= 1"));
  }
  if (c.vocabulary < 2) {
    return refuse(absl::StrCat("model: vocabulary is ", c.vocabulary, ", want >= 2"));
  }
  if (!(c.dropout >= 0.0 && c.dropout < 1.0)) {
    return refuse(absl::StrCat("model: dropout is ", c.dropout, ", want 0 <= dropout < 1"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Model> MakeGpt2(const Gpt2Config& config) {
  if (absl::Status status = Check(config); !status.ok()) return status;
  Model model;
  model.blocks.push_back(std::make_unique<EmbeddingBlock>(config));
  for (int layer = 0; layer < config.layers; ++layer) {
    model.blocks.push_back(std::make_unique<TransformerBlock>(config, layer));
  }
  model.blocks.push_back(std::make_unique<HeadBlock>(config));
  model.config_json = ConfigJson(config);
  return model;
}

}  // namespace muster::trainer
