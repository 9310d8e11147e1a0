#ifndef MUSTER_AGENT_WORKER_WORKER_FLAGS_H_
#define MUSTER_AGENT_WORKER_WORKER_FLAGS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/worker/worker_agent.h"

namespace muster::agent {

extern const char kWorkerUsage[];

// One flag of `muster-agent worker`: --NAME=VALUE.
struct WorkerFlag {
  const char* name;      // without dashes
  const char* variable;  // the environment variable that holds its default
  const char* help;
};

// Every flag that ParseWorkerFlags() knows.
const std::vector<WorkerFlag>& WorkerFlags();

// The flags of `muster-agent worker` by name, without their dashes.
using Flags = std::map<std::string, std::string>;

// Looks up an environment variable; returns "" if it is not set.
using EnvironmentLookup = std::function<std::string(const std::string& name)>;

// Parses the flags; `argv` begins with the program's name. Flags that are not given default to the
// environment that the operator gives a pod (MUSTER_...). Errors are InvalidArgument.
absl::StatusOr<Flags> ParseWorkerFlags(int argc, const char* const* argv,
                                       const EnvironmentLookup& environment);

// Converts the flags; InvalidArgument for a malformed number or duration.
absl::StatusOr<WorkerAgentOptions> ToWorkerAgentOptions(const Flags& flags);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_WORKER_FLAGS_H_
