#ifndef MUSTER_TRAINER_MODEL_TORCHSCRIPT_STATE_WATCH_H_
#define MUSTER_TRAINER_MODEL_TORCHSCRIPT_STATE_WATCH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "trainer/model/torchscript/script_module.h"

namespace muster::trainer {

// Notices a forward pass that writes to the attributes of its modules. Ranks run different
// micro-batches, so they would not agree on what was written, and no checkpoint would have it.
class StateWatch {
 public:
  // Takes the state before the pass. Writes to tensors are told by their version counters; with
  // `contents` all bytes of buffers are compared besides, because operators such as batch_norm
  // write without counting. `slots` must outlive this.
  StateWatch(const std::vector<ScriptSlot>& slots, bool contents);

  // Returns the name of the first attribute that has been written since; empty if none has.
  std::string FirstWritten() const;

 private:
  struct Seen {
    c10::IValue value;
    c10::IValue plain;  // a copy of a container that holds no tensors, else None
    std::vector<std::pair<const void*, int64_t>> versions;  // of the tensors in the value
    std::vector<at::Tensor> copies;                         // of them, with `contents`
  };
  static bool IsWritten(const Seen& seen, const c10::IValue& now);

  const std::vector<ScriptSlot>& slots_;
  std::vector<Seen> seen_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_TORCHSCRIPT_STATE_WATCH_H_
