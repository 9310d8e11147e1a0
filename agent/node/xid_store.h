#ifndef MUSTER_AGENT_NODE_XID_STORE_H_
#define MUSTER_AGENT_NODE_XID_STORE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/node/gpu_health.h"

namespace muster::agent {

// Counts of XID errors as a file, so that a GPU with a fault does not become healthy because its
// agent was started anew: the driver tells an error once. The file belongs below /run, which is
// empty after each start of the machine. {"GPU-5f...": {"79": 1}}

std::string FormatXids(const XidCounts& counts);
absl::StatusOr<XidCounts> ParseXids(std::string_view text);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_XID_STORE_H_
