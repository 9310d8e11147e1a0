#ifndef MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_FORWARD_H_
#define MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_FORWARD_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/model/torchscript/script_module.h"

namespace muster::trainer {

// The arguments and results of a block's forward method, read from its schema.
struct ScriptForward {
  // The micro-batch's: which of `tokens`, `labels` and `positions` it takes.
  std::vector<std::string> of_batch;
  // The other arguments, in order: the outputs of the block before. Arguments with a default value
  // keep it and are not here.
  std::vector<std::string> inputs;
  size_t outputs = 0;
};

inline constexpr char kTokensArgument[] = "tokens";
inline constexpr char kLabelsArgument[] = "labels";
inline constexpr char kPositionsArgument[] = "positions";

bool HasForward(const ScriptModule& module);

// InvalidArgument, which names the block, if it has no forward, or one that takes or returns
// anything but tensors. The block may return one, or a tuple of them.
absl::StatusOr<ScriptForward> ReadForward(const NamedModule& block);

// Returns OK if every block returns as many tensors as the next one takes, the first takes none,
// and the last takes labels and returns one tensor, the loss. `names` are the blocks'.
absl::Status CheckChain(const std::vector<std::string>& names,
                        const std::vector<ScriptForward>& forwards);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_FORWARD_H_
