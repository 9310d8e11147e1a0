#ifndef MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_PARAMETERS_H_
#define MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_PARAMETERS_H_

#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "c10/core/ScalarType.h"
#include "trainer/model/parameter.h"
#include "trainer/model/torchscript/script_module.h"

namespace muster::trainer {

// A parameter as one block uses it.
struct ScriptParameter {
  ParameterSpec spec;
  at::Tensor value;               // as the file has it
  std::vector<ScriptSlot> slots;  // where the block reads it; several if tied within the block
};

// Returns the parameters of each of `blocks`, which are submodules of `root`. A tied parameter, one
// tensor in several places, has the name of its first place. Weight decay applies to parameters of
// two or more dimensions. InvalidArgument if the model has no parameters, or, with the parameter's
// name, if a unit cannot hold one: it must be a dense, non-empty tensor of `type`, or of FP32 where
// `type` is FP64, require a gradient, lie in a block, and share its memory with no other tensor.
absl::StatusOr<std::vector<std::vector<ScriptParameter>>> FindParameters(
    const ScriptModule& root, const std::vector<NamedModule>& blocks, c10::ScalarType type);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_PARAMETERS_H_
