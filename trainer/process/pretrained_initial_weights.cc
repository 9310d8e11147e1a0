#include "trainer/process/pretrained_initial_weights.h"

#include <cstddef>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/parameter.h"

namespace muster::trainer {
namespace {

// Returns every tensor of the model once, though blocks may share it.
std::vector<WantedTensor> TensorsOf(const Model& model) {
  std::vector<WantedTensor> tensors;
  std::set<std::string> names;
  for (const auto& block : model.blocks) {
    for (const ParameterSpec& spec : block->parameters()) {
      if (names.insert(spec.name).second) tensors.push_back({spec.name, spec.shape});
    }
  }
  return tensors;
}

// Returns the name of the parameter that two blocks share: the embedding, if the head is tied to
// it. Empty without tied weights.
std::string TiedWeightOf(const Model& model) {
  std::set<std::string> names;
  for (const auto& block : model.blocks) {
    for (const ParameterSpec& spec : block->parameters()) {
      if (!names.insert(spec.name).second) return spec.name;
    }
  }
  return "";
}

}  // namespace

PretrainedInitialWeights::PretrainedInitialWeights(Files& files, std::string path,
                                                   const Model& model, std::string vocabulary)
    : files_(files),
      path_(std::move(path)),
      config_(model.config_json),
      tensors_(TensorsOf(model)),
      tied_(TiedWeightOf(model)),
      vocabulary_(std::move(vocabulary)) {}

absl::Status PretrainedInitialWeights::Open() {
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<PretrainedWeights> weights,
                          PretrainedWeights::Open(files_, path_));
  MUSTER_ASSIGN_OR_RETURN(const Json ours, ParseJson(config_));
  const absl::Status same = CheckSameModel(weights->config(), ours, weights->size(), vocabulary_);
  if (!same.ok()) {
    return absl::Status(same.code(), absl::StrCat(JoinPath(path_, "config.json"), ": ",
                                                  std::string(same.message())));
  }
  if (!tied_.empty()) weights->AlsoUnder(tied_, "lm_head.weight");
  MUSTER_RETURN_IF_ERROR(weights->Check(tensors_));
  weights_ = std::move(weights);
  return absl::OkStatus();
}

absl::Status PretrainedInitialWeights::Fill(const std::string& name,
                                            const std::vector<int64_t>& shape, int64_t begin,
                                            at::Tensor elements) {
  const DataType type = elements.scalar_type() == at::kDouble ? DataType::kF64 : DataType::kF32;
  const std::span<std::byte> into(static_cast<std::byte*>(elements.mutable_data_ptr()),
                                  elements.nbytes());
  return weights_->ReadPart(name, type, shape, static_cast<uint64_t>(begin), into);
}

}  // namespace muster::trainer
