#ifndef MUSTER_AGENT_WORKER_USER_COMMAND_H_
#define MUSTER_AGENT_WORKER_USER_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/environment.h"
#include "base/files.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::agent {

// The command of the container named `worker` of a pod template: command, then args, as they are.
// InvalidArgument when the template has no such container or it has no command.
absl::StatusOr<std::vector<std::string>> ReadUserCommand(const std::string& pod_template_json);

// A command saves by itself, muster only says where: makes the directory of spec.checkpoint and
// names it in MUSTER_CHECKPOINT_DIR. What has a scheme (s3://bucket) is named as it is, and left to
// the command. Without spec.checkpoint nothing is set.
absl::Status AddCheckpointDirectory(const v1alpha1::TrainingJobSpec& spec, Files& files,
                                    Environment& env);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_USER_COMMAND_H_
