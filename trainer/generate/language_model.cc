#include "trainer/generate/language_model.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "ATen/TensorOperators.h"
#include "ATen/core/Tensor.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/reader.h"
#include "trainer/data/bpe_tokenizer.h"
#include "trainer/data/tokenizer_json.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/model/families/model_factory.h"

namespace muster::trainer {
namespace {

constexpr char kTokenizer[] = "tokenizer.json";

absl::StatusOr<at::Tensor> ReadTensor(const CheckpointReader& reader, const ParameterSpec& spec) {
  const TensorRecord* record = reader.manifest().Find(spec.name);
  if (record == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the checkpoint has no tensor ", spec.name));
  }
  const bool wide = record->type == DataType::kF64;
  if (!wide && record->type != DataType::kF32) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.name, " is of type ", std::string(Name(record->type)), ", want F32 or F64"));
  }
  at::Tensor tensor =
      at::empty(spec.shape, at::TensorOptions().dtype(wide ? at::kDouble : at::kFloat));
  const std::span<std::byte> bytes(static_cast<std::byte*>(tensor.mutable_data_ptr()),
                                   tensor.nbytes());
  MUSTER_RETURN_IF_ERROR(reader.Read(spec.name, record->type, spec.shape, bytes));
  return tensor;
}

// Binds the weights to the model and returns their type.
absl::StatusOr<c10::ScalarType> BindWeights(const CheckpointReader& reader, Model& model) {
  std::map<std::string, at::Tensor> tensors;  // blocks that name the same tensor share it
  for (const auto& block : model.blocks) {
    std::vector<at::Tensor> views;
    for (const ParameterSpec& spec : block->parameters()) {
      if (!tensors.contains(spec.name)) {
        MUSTER_ASSIGN_OR_RETURN(tensors[spec.name], ReadTensor(reader, spec));
      }
      views.push_back(tensors[spec.name]);
    }
    block->Bind(std::move(views));
  }
  return tensors.begin()->second.scalar_type();
}

absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(const CheckpointReader& reader) {
  const auto& files = reader.manifest().files;
  if (std::none_of(files.begin(), files.end(),
                   [](const FileRecord& file) { return file.name == kTokenizer; })) {
    return std::unique_ptr<Tokenizer>();
  }
  MUSTER_ASSIGN_OR_RETURN(std::string json, reader.ReadDocument(kTokenizer));
  MUSTER_ASSIGN_OR_RETURN(BpeModel model, ParseTokenizerJson(json));
  return std::make_unique<BpeTokenizer>(std::move(model), std::move(json));
}

absl::Status CheckTokens(std::span<const uint32_t> tokens, int64_t positions, int64_t vocabulary) {
  if (tokens.empty() || static_cast<int64_t>(tokens.size()) > positions) {
    return absl::InvalidArgumentError(
        absl::StrCat(tokens.size(), " tokens, want 1 to ", positions));
  }
  for (const uint32_t token : tokens) {
    if (token < vocabulary) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("token ", token, " is not below the model's vocabulary of ", vocabulary));
  }
  return absl::OkStatus();
}

// Makes one row of tokens without labels, for which the last block returns logits.
MicroBatchContext ContextOf(std::span<const uint32_t> tokens) {
  const auto size = static_cast<int64_t>(tokens.size());
  MicroBatchContext context;
  context.training = false;
  context.tokens = at::empty({1, size}, at::TensorOptions().dtype(at::kLong));
  std::copy(tokens.begin(), tokens.end(), context.tokens.mutable_data_ptr<int64_t>());
  context.positions = at::arange(size, at::TensorOptions().dtype(at::kLong));
  context.samples = {0};
  return context;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LanguageModel>> LanguageModel::Open(Files& files,
                                                                   const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(files, path));
  MUSTER_ASSIGN_OR_RETURN(
      const planner::ModelShape shape,
      ReadModelShape(reader->manifest().run.model, reader->manifest().tensors.size()));
  std::unique_ptr<LanguageModel> model(new LanguageModel());
  MUSTER_ASSIGN_OR_RETURN(model->model_, MakeModel(shape));
  model->positions_ = shape.positions;
  model->vocabulary_ = shape.vocabulary;
  MUSTER_ASSIGN_OR_RETURN(model->tokenizer_, ReadTokenizer(*reader));
  if (model->tokenizer_ != nullptr && model->tokenizer_->vocabulary() > model->vocabulary_) {
    return absl::InvalidArgumentError(absl::StrCat("the checkpoint's tokenizer has ",
                                                   model->tokenizer_->vocabulary(),
                                                   " tokens, its model ", model->vocabulary_));
  }
  MUSTER_RETURN_IF_ERROR(CatchTorch("reading the weights", [&reader, &model]() -> absl::Status {
    MUSTER_ASSIGN_OR_RETURN(model->type_, BindWeights(*reader, model->model_));
    return absl::OkStatus();
  }));
  return model;
}

absl::StatusOr<std::vector<float>> LanguageModel::NextLogits(std::span<const uint32_t> tokens) {
  MUSTER_RETURN_IF_ERROR(CheckTokens(tokens, positions_, vocabulary_));
  std::vector<float> logits(static_cast<size_t>(vocabulary_));
  MUSTER_RETURN_IF_ERROR(CatchTorch("computing logits", [&] {
    const at::NoGradGuard no_gradients;
    MicroBatchContext context = ContextOf(tokens);
    context.compute_type = type_;
    std::vector<at::Tensor> x;
    for (const auto& block : model_.blocks) x = block->Forward(std::move(x), context).tensors;
    const at::Tensor last = x[0].to(at::kFloat).contiguous();
    std::copy_n(last.const_data_ptr<float>(), logits.size(), logits.begin());
    return absl::OkStatus();
  }));
  return logits;
}

}  // namespace muster::trainer
