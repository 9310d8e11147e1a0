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
  std::vector<ScriptSlot> slots;  // where the block reads it: several if it is tied to itself
};

// Finds the parameters of each of `blocks`, which lie in `root`. Tied ones, which are one tensor in
// several places, have one name, that of the first place. Weight decay applies to those of two or
// more dimensions. InvalidArgument, which names the parameter, if there is none or one that units
// cannot hold: it must be a dense tensor of `type`, or of FP32 for FP64, that requires a gradient
// and shares its memory with nothing else, and every one must lie in a block.
absl::StatusOr<std::vector<std::vector<ScriptParameter>>> FindParameters(
    const ScriptModule& root, const std::vector<NamedModule>& blocks, c10::ScalarType type);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_PARAMETERS_H_
