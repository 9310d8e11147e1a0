#ifndef MUSTER_AGENT_WORKER_USER_COMMAND_H_
#define MUSTER_AGENT_WORKER_USER_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::agent {

// The command of the container named `worker` of a pod template: command, then args, as they are.
// InvalidArgument when the template has no such container or it has no command.
absl::StatusOr<std::vector<std::string>> ReadUserCommand(const std::string& pod_template_json);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_USER_COMMAND_H_
