#ifndef MUSTER_AGENT_WORKER_RANKS_USER_COMMAND_H_
#define MUSTER_AGENT_WORKER_RANKS_USER_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/environment.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::agent {

// Returns the command of the container named `worker` in a pod template: command, then args,
// verbatim. InvalidArgument if there is no such container or it has no command.
absl::StatusOr<std::vector<std::string>> ReadUserCommand(const std::string& pod_template_json);

// A command saves its own checkpoints; muster only provides the place: makes the directory of
// spec.checkpoint and passes it in MUSTER_CHECKPOINT_DIR. An s3:// uri is passed unchanged and left
// to the command. Sets nothing without spec.checkpoint.
absl::Status AddCheckpointDirectory(const v1alpha1::TrainingJobSpec& spec, Files& files,
                                    Environment& env);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_USER_COMMAND_H_
