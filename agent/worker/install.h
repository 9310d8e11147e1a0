#ifndef MUSTER_AGENT_WORKER_INSTALL_H_
#define MUSTER_AGENT_WORKER_INSTALL_H_

#include <string>

#include "absl/status/status.h"

namespace muster::agent {

// Copies `program` into the existing `folder` as `muster-agent`, executable by every user, so that
// a container whose image has no agent can run it from a shared volume. The new copy replaces an
// older one atomically, and does not disturb a process that reads that one. Errors name the path.
absl::Status InstallAgent(const std::string& program, const std::string& folder);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_INSTALL_H_
