#ifndef MUSTER_CLI_RUN_GENERATOR_H_
#define MUSTER_CLI_RUN_GENERATOR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "cli/flags/flags.h"
#include "cli/jobs/checkpoint_place.h"

namespace muster::cli {

// Returns the path of the newest complete checkpoint in `directory`, or of the one given by the
// flag `step`; `directory` itself if it is a checkpoint. NotFound lists the steps there are.
absl::StatusOr<std::string> ChooseCheckpoint(const CheckpointPlace& place, const Flags& flags);

// Executes muster-generate, which reads checkpoints' tensors, in place of this program. Returns
// only if it cannot. The request is its standard input, not an argument, because a prompt may be
// long and private. Reads the flag `generator`.
absl::Status BecomeGenerator(const Flags& flags, const Json& request);

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_GENERATOR_H_
