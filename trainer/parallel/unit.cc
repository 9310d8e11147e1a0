#include "trainer/parallel/unit.h"

#include <utility>

#include "ATen/ops/empty.h"
#include "ATen/ops/zeros.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/kernels/kernels.h"
#include "trainer/model/parameter.h"
#include "trainer/model/partition.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {

// Autograd keeps parameters for the backward pass and refuses them there if they were written
// since. The parameters are no such views that `values` tells of its writes, because values that
// were freed after the forward pass are gathered anew for the backward pass.
Unit::Unit(UnitLayout layout, const at::TensorOptions& options, ModelPart part)
    : layout_(std::move(layout)), part_(part) {
  values_ = at::empty({layout_.elements}, options);
  gradients_ = at::empty({layout_.elements}, options);
  TakeMemory(values_);
  TakeMemory(gradients_);
  for (const UnitTensor& tensor : layout_.tensors) {
    at::Tensor view =
        values_.narrow(0, tensor.offset, tensor.size).view(tensor.shape).variable_data();
    view.requires_grad_(true);
    view.mutable_grad() = gradients_.narrow(0, tensor.offset, tensor.size).view(tensor.shape);
    parameters_.push_back(std::move(view));
  }
}

HeldSlice Unit::MakeSlice(const TreeNode& chunks, const Division& division,
                          bool values_rest) const {
  const int64_t elements = chunks.leaves() * kChunkElements;
  const auto make = [&](const at::Tensor& flat, bool divided, bool rests) {
    if (divided && rests) return FlatWithoutMemory(elements, flat.options());
    if (divided) return at::zeros({elements}, flat.options());
    if (!HasMemory(flat)) {
      GiveMemory(flat);
      flat.zero_();
    }
    return ChunksOf(flat, chunks);
  };
  return {chunks, make(values_, division.values, values_rest),
          make(gradients_, division.gradients, false)};
}

void Unit::Hold(HeldSlice slice) {
  held_ = std::move(slice);
  ReleaseValues();
  ReleaseGradients();
}

void Unit::AllocateValues() const {
  if (divides_values()) GiveMemory(values_);
}

void Unit::ReleaseValues() const {
  if (divides_values()) TakeMemory(values_);
}

void Unit::AllocateGradients() const {
  if (!divides_gradients() || HasMemory(gradients_)) return;
  GiveMemory(gradients_);
  gradients_.zero_();
}

void Unit::ReleaseGradients() const {
  if (divides_gradients()) TakeMemory(gradients_);
}

void Unit::Initialize(uint64_t seed) {
  AllocateValues();
  values_.zero_();
  for (const UnitTensor& tensor : layout_.tensors) Fill(tensor, seed);
  if (!divides_values()) return;
  held_.values.copy_(ChunksOf(values_, held_.chunks));
  ReleaseValues();
}

void Unit::Fill(const UnitTensor& tensor, uint64_t seed) const {
  const at::Tensor elements = values_.narrow(0, tensor.offset, tensor.size);
  switch (tensor.spec.init.kind) {
    case Initialization::Kind::kZeros:
      break;
    case Initialization::Kind::kOnes:
      elements.fill_(1.0);
      break;
    case Initialization::Kind::kNormal: {
      KernelsOf(elements).FillNormal(
          {.seed = seed, .name = tensor.spec.name, .deviation = tensor.spec.init.deviation},
          RunsOfPart(tensor.spec.shape, tensor.spec.partition, part_), elements);
      break;
    }
  }
}

absl::Status Unit::CheckViews() const {
  const auto is_at = [](const at::Tensor& view, const at::Tensor& flat, int64_t offset) {
    return view.defined() && view.is_alias_of(flat) && view.storage_offset() == offset;
  };
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const int64_t offset = layout_.tensors[i].offset;
    if (!is_at(parameters_[i], values_, offset) ||
        !is_at(parameters_[i].grad(), gradients_, offset)) {
      return absl::InternalError(absl::StrCat(layout_.tensors[i].spec.name,
                                              " is no longer a view of unit ", layout_.name));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Unit>> MakeUnits(const Model& model, c10::ScalarType type,
                                            c10::Device device, ModelPart part, const StageCut& cut,
                                            int stage) {
  std::vector<BlockParameters> blocks;
  for (const auto& block : model.blocks) blocks.push_back({block->name(), block->parameters()});
  MUSTER_ASSIGN_OR_RETURN(ModelLayout layout, LayOutModel(blocks, part, cut, stage));
  std::vector<Unit> units;
  for (UnitLayout& unit : layout.units) {
    units.emplace_back(std::move(unit), at::TensorOptions(device).dtype(type), part);
  }
  for (size_t b = 0; b < model.blocks.size(); ++b) {
    if (cut.StageOf(static_cast<int>(b)) != stage) continue;
    std::vector<at::Tensor> views;
    for (const ParameterPlace& place : layout.places[b]) {
      views.push_back(units[place.unit].parameters()[place.tensor]);
    }
    model.blocks[b]->Bind(std::move(views));
  }
  return units;
}

}  // namespace muster::trainer
