// The part of the state that shows its tensors: to checkpoints, and to other ranks.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/kernels/kernels.h"
#include "trainer/parallel/flat_memory.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

// Returns the part of a tensor of the unit's that lies in `slice`; `flat` has the slice's elements.
TensorPart PartOf(const Unit& unit, const UnitTensor& tensor, ModelPart part, int stage,
                  const TreeNode& slice, const at::Tensor& flat, std::string name) {
  const int64_t first = slice.begin * kChunkElements, last = slice.end * kChunkElements;
  const int64_t begin = std::clamp(tensor.offset, first, last);
  const int64_t end = std::clamp(tensor.offset + tensor.size, first, last);
  return {.name = std::move(name),
          .shape = tensor.spec.shape,
          .partition = tensor.spec.partition,
          .part = part,
          .begin = begin < end ? begin - tensor.offset : 0,
          .elements = flat.narrow(0, begin - first, end - begin),
          .of_first_stage = unit.layout().stages.front() < stage};
}

}  // namespace

std::vector<NamedTensor> TrainingState::FlatTensors() const {
  std::vector<NamedTensor> out;
  for (size_t u = 0; u < units_.size(); ++u) {
    const std::string& name = units_[u].layout().name;
    out.push_back({name, units_[u].held().values});
    const std::vector<at::Tensor> state = optimizer_->state(static_cast<int>(u));
    for (size_t i = 0; i < state.size(); ++i) {
      out.push_back({absl::StrCat(name, ".", optimizer_->state_names()[i]), state[i]});
    }
  }
  return out;
}

std::vector<NamedTensor> TrainingState::Parameters() const {
  std::vector<NamedTensor> out;
  for (const Unit& unit : units_) {
    for (size_t i = 0; i < unit.parameters().size(); ++i) {
      out.push_back({unit.layout().tensors[i].spec.name, unit.parameters()[i].detach()});
    }
  }
  return out;
}

std::vector<NamedTensor> TrainingState::Gradients() const {
  std::vector<NamedTensor> out;
  for (const Unit& unit : units_) {
    for (size_t i = 0; i < unit.parameters().size(); ++i) {
      out.push_back({unit.layout().tensors[i].spec.name, unit.parameters()[i].grad()});
    }
  }
  return out;
}

std::vector<TensorPart> TrainingState::ValueParts(bool slices_only) const {
  std::vector<TensorPart> out;
  for (const Unit& unit : units_) {
    const bool divided = slices_only || unit.divides_values();
    const TreeNode run = divided ? unit.held().chunks : TreeNode{0, unit.layout().chunks()};
    const at::Tensor& values = divided ? unit.held().values : unit.values();
    for (const UnitTensor& tensor : unit.layout().tensors) {
      out.push_back(PartOf(unit, tensor, part_, stage_, run, values, tensor.spec.name));
    }
  }
  return out;
}

std::vector<TensorPart> TrainingState::OptimizerParts() const {
  std::vector<TensorPart> out;
  for (size_t u = 0; u < units_.size(); ++u) {
    const std::vector<at::Tensor> state = optimizer_->state(static_cast<int>(u));
    for (const UnitTensor& tensor : units_[u].layout().tensors) {
      for (size_t i = 0; i < state.size(); ++i) {
        out.push_back(PartOf(units_[u], tensor, part_, stage_, units_[u].held().chunks, state[i],
                             absl::StrCat(tensor.spec.name, ".", optimizer_->state_names()[i])));
        out.back().of_optimizer = true;
      }
    }
  }
  return out;
}

StateRest& TrainingState::RestOf(const TensorPart& part) const {
  return part.of_optimizer ? *rests_.optimizer : *rests_.weights;
}

absl::Status TrainingState::ReadPart(const TensorPart& part, std::span<std::byte> into) const {
  return RestOf(part).Read(part.elements, into);
}

absl::Status TrainingState::FillPart(const TensorPart& part,
                                     absl::FunctionRef<absl::Status(at::Tensor elements)> fill) {
  Changes();
  const bool in_memory = HasMemory(part.elements) || part.elements.numel() == 0;
  if (in_memory && part.elements.is_cpu()) return fill(part.elements);
  const at::Tensor elements =
      at::empty(part.elements.sizes(), part.elements.options().device(c10::DeviceType::CPU));
  MUSTER_RETURN_IF_ERROR(fill(elements));
  const auto* bytes = static_cast<const std::byte*>(elements.const_data_ptr());
  return RestOf(part).Write(part.elements, {bytes, elements.nbytes()});
}

absl::StatusOr<std::vector<int64_t>> TrainingState::Digest() const {
  std::vector<int64_t> out, of_optimizer;
  for (size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    const int index = static_cast<int>(u);
    MUSTER_RETURN_IF_ERROR(rests_.Bring(index));
    const at::Tensor& values = unit.divides_values() ? unit.held().values : unit.values();
    out.push_back(static_cast<int64_t>(KernelsOf(values).Digest(values, 0)));
    uint64_t hash = 0;
    for (const at::Tensor& state : optimizer_->state(index)) {
      hash = KernelsOf(state).Digest(state, hash);
    }
    of_optimizer.push_back(static_cast<int64_t>(hash));
    rests_.Drop(index);
  }
  out.insert(out.end(), of_optimizer.begin(), of_optimizer.end());
  const bool usable = applied().has_value();
  std::vector<int64_t> position = ToNumbers(counts_);
  position.push_back(usable ? applied()->step() : -1);
  position.push_back(usable ? applied()->attempt() : -1);
  out.push_back(static_cast<int64_t>(Hash64(
      {reinterpret_cast<const char*>(position.data()), position.size() * sizeof(position[0])})));
  return out;
}

}  // namespace muster::trainer
