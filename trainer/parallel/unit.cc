#include "trainer/parallel/unit.h"

#include <span>
#include <utility>

#include "ATen/ops/zeros.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/model/parameter.h"
#include "trainer/random/fill.h"

namespace muster::trainer {

Unit::Unit(UnitLayout layout, c10::ScalarType type) : layout_(std::move(layout)) {
  values_ = at::zeros({layout_.elements}, type);
  gradients_ = at::zeros({layout_.elements}, type);
  for (const UnitTensor& tensor : layout_.tensors) {
    at::Tensor view =
        values_.narrow(0, tensor.offset, tensor.size).view(tensor.spec.shape).detach();
    view.requires_grad_(true);
    view.mutable_grad() = gradients_.narrow(0, tensor.offset, tensor.size).view(tensor.spec.shape);
    parameters_.push_back(std::move(view));
  }
}

void Unit::Initialize(uint64_t seed) {
  values_.zero_();
  for (const UnitTensor& tensor : layout_.tensors) {
    at::Tensor part = values_.narrow(0, tensor.offset, tensor.size);
    const auto size = static_cast<size_t>(tensor.size);
    switch (tensor.spec.init.kind) {
      case Initialization::Kind::kZeros:
        break;
      case Initialization::Kind::kOnes:
        part.fill_(1.0);
        break;
      case Initialization::Kind::kNormal:
        if (part.scalar_type() == c10::ScalarType::Double) {
          FillNormal(seed, tensor.spec.name, tensor.spec.init.deviation,
                     std::span(part.mutable_data_ptr<double>(), size));
        } else {
          FillNormal(seed, tensor.spec.name, tensor.spec.init.deviation,
                     std::span(part.mutable_data_ptr<float>(), size));
        }
        break;
    }
  }
}

absl::Status Unit::CheckViews() const {
  const auto width = static_cast<int64_t>(values_.element_size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const int64_t bytes = layout_.tensors[i].offset * width;
    const auto* value = static_cast<const char*>(values_.const_data_ptr()) + bytes;
    const auto* gradient = static_cast<const char*>(gradients_.const_data_ptr()) + bytes;
    const at::Tensor& grad = parameters_[i].grad();
    if (parameters_[i].const_data_ptr() != value || !grad.defined() ||
        grad.const_data_ptr() != gradient) {
      return absl::InternalError(absl::StrCat(layout_.tensors[i].spec.name,
                                              " is no longer a view of unit ", layout_.name));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Unit>> MakeUnits(const Model& model, c10::ScalarType type) {
  std::vector<BlockParameters> blocks;
  for (const auto& block : model.blocks) blocks.push_back({block->name(), block->parameters()});
  MUSTER_ASSIGN_OR_RETURN(ModelLayout layout, LayOutModel(blocks));
  std::vector<Unit> units;
  for (UnitLayout& unit : layout.units) units.emplace_back(std::move(unit), type);
  for (size_t b = 0; b < model.blocks.size(); ++b) {
    std::vector<at::Tensor> views;
    for (const ParameterPlace& place : layout.places[b]) {
      views.push_back(units[place.unit].parameters()[place.tensor]);
    }
    model.blocks[b]->Bind(std::move(views));
  }
  return units;
}

}  // namespace muster::trainer
