#include "trainer/model/torchscript/script_parameters.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

struct Known {
  std::string name;
  at::Tensor tensor;
};

// The parameters found so far, by their memory.
using KnownParameters = std::map<const void*, Known>;

const void* MemoryOf(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

bool IsSameView(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset();
}

absl::Status Refuse(const std::string& name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " ", why));
}

absl::Status CheckParameter(const std::string& name, const at::Tensor& tensor,
                            c10::ScalarType type) {
  if (tensor.layout() != c10::kStrided || !tensor.is_floating_point()) {
    return Refuse(name,
                  absl::StrCat("is a tensor of ", c10::toString(tensor.scalar_type()),
                               tensor.layout() == c10::kStrided ? "" : ", and sparse",
                               ": only dense ones of floating-point numbers are trained; make it "
                               "a buffer"));
  }
  const c10::ScalarType stored = tensor.scalar_type();
  if (stored != type && !(stored == c10::kFloat && type == c10::kDouble)) {
    return Refuse(name,
                  absl::StrCat("is of type ", c10::toString(stored), ", and ", c10::toString(type),
                               " is wanted: convert the model before it is saved, with "
                               "model.to(...), or change train.precision"));
  }
  if (!tensor.requires_grad()) {
    return Refuse(name,
                  "does not require a gradient, and parameters are trained without exception: make "
                  "it a buffer");
  }
  if (tensor.numel() == 0) return Refuse(name, "has no elements: leave it out");
  return absl::OkStatus();
}

// Returns the name under which the parameter is known.
absl::StatusOr<std::string> Learn(const ScriptSlot& slot, const at::Tensor& tensor,
                                  c10::ScalarType type, KnownParameters& known) {
  MUSTER_RETURN_IF_ERROR(CheckParameter(slot.name, tensor, type));
  const auto [it, fresh] = known.emplace(MemoryOf(tensor), Known{slot.name, tensor});
  if (!fresh && !IsSameView(it->second.tensor, tensor)) {
    return Refuse(slot.name, absl::StrCat("lies in the memory of ", it->second.name,
                                          " and is another part or shape of it: tie whole "
                                          "parameters, or compute the one from the other"));
  }
  return it->second.name;
}

absl::StatusOr<std::vector<ScriptParameter>> ParametersOf(const NamedModule& block,
                                                          c10::ScalarType type,
                                                          KnownParameters& known) {
  std::vector<ScriptParameter> parameters;
  for (const ScriptSlot& slot : SlotsOf(block)) {
    if (!slot.is_parameter || !slot.value().isTensor()) continue;
    const at::Tensor& tensor = slot.value().toTensor();
    MUSTER_ASSIGN_OR_RETURN(std::string name, Learn(slot, tensor, type, known));
    const auto found =
        std::find_if(parameters.begin(), parameters.end(),
                     [&](const ScriptParameter& parameter) { return parameter.spec.name == name; });
    if (found != parameters.end()) {
      found->slots.push_back(slot);
      continue;
    }
    ParameterSpec spec{
        .name = std::move(name), .shape = tensor.sizes().vec(), .decay = tensor.dim() >= 2};
    parameters.push_back({std::move(spec), tensor, {slot}});
  }
  return parameters;
}

// Fails for what would go on using the file's memory of a parameter, and for parameters that no
// block has.
absl::Status CheckTheRest(const ScriptModule& root, const KnownParameters& known) {
  for (const ScriptSlot& slot : SlotsOf({"", root})) {
    for (const at::Tensor& tensor : TensorsIn(slot.value())) {
      const auto found = known.find(MemoryOf(tensor));
      if (!slot.is_parameter && found != known.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(slot.name, " lies in the memory of the parameter ", found->second.name,
                         " and would not change with it: compute it in forward"));
      }
      if (slot.is_parameter && found == known.end()) {
        return Refuse(slot.name,
                      "is outside of blocks, where nothing uses it: move it into the block that "
                      "does");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::vector<ScriptParameter>>> FindParameters(
    const ScriptModule& root, const std::vector<NamedModule>& blocks, c10::ScalarType type) {
  KnownParameters known;
  std::vector<std::vector<ScriptParameter>> parameters;
  for (const NamedModule& block : blocks) {
    MUSTER_ASSIGN_OR_RETURN(parameters.emplace_back(), ParametersOf(block, type, known));
  }
  MUSTER_RETURN_IF_ERROR(CheckTheRest(root, known));
  if (known.empty()) {
    return absl::InvalidArgumentError(
        "the model has no parameters to train: torch.jit.freeze, which makes constants of them, "
        "must not be called");
  }
  return parameters;
}

}  // namespace muster::trainer
