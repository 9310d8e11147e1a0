#ifndef MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_MODULE_H_
#define MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_MODULE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"

namespace muster::trainer {

// A module as torch.jit.load makes it: an object with slots for its parameters, its buffers, its
// submodules and its other attributes. The object of a file keeps alive the code of them all.
using ScriptModule = c10::intrusive_ptr<c10::ivalue::Object>;

// A parameter, buffer or other attribute of a module.
struct ScriptSlot {
  std::string name;  // from the module of the file on, as in blocks.0.weight
  ScriptModule owner;
  size_t index = 0;
  bool is_parameter = false;

  const c10::IValue& value() const { return owner->getSlot(index); }
};

struct NamedModule {
  std::string name;  // as of a slot
  ScriptModule module;
};

// Reads a file that torch.jit.save wrote, with all its tensors, onto the CPU. The file is code: it
// is compiled, and its code that rebuilds objects is run. InvalidArgument, which names the file, if
// it is something else; else the file system's error.
absl::StatusOr<ScriptModule> LoadScriptModule(Files& files, const std::string& path);

// Returns the modules directly in `module`.
std::vector<NamedModule> ChildrenOf(const NamedModule& module);

// Returns every slot of `module` and of the modules in it that does not hold a module. A module
// that is there under several names has its slots under the first one alone.
std::vector<ScriptSlot> SlotsOf(const NamedModule& module);

// Returns the tensors in a value, also those in its lists, tuples, dictionaries and objects.
std::vector<at::Tensor> TensorsIn(const c10::IValue& value);

// Sets whether `module` and the modules in it are training.
void SetTraining(const ScriptModule& module, bool training);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_MODULE_H_
