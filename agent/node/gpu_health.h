#ifndef MUSTER_AGENT_NODE_GPU_HEALTH_H_
#define MUSTER_AGENT_NODE_GPU_HEALTH_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/hardware/reading.h"
#include "agent/node/health_fault.h"

// Judges GPUs. Pure.
namespace muster::agent {

// Counts of the XID errors since the machine started, by GPU (its UUID) and XID.
using XidCounts = std::map<std::pair<std::string, uint64_t>, uint64_t>;
// Different pairs that are counted at most; the rest is forgotten.
inline constexpr size_t kMostXidPairs = 4096;

void Count(const std::vector<XidEvent>& events, XidCounts& counts);

// The counts as a file, so that a GPU with a fault does not become healthy because its agent was
// started anew: the driver tells an error once. The file belongs below /run, which is empty after
// each start of the machine. {"GPU-5f...": {"79": 1}}
std::string FormatXids(const XidCounts& counts);
absl::StatusOr<XidCounts> ParseXids(std::string_view text);

// Returns what an XID says about the GPU if work on it cannot go on before it is reset or replaced;
// an empty text for those that a program caused, or that the driver has dealt with. After NVIDIA's
// "XID Errors" catalogue: the XIDs whose action is to reset the GPU, to restart the machine or to
// inspect it.
std::string FatalXidMeaning(uint64_t xid);

// Returns the faults of a GPU, the gravest first; none if it is well: FatalXid, GpuLost,
// RowRemapFailure, UncorrectableEcc.
std::vector<HealthFault> FaultsOf(const GpuReading& gpu, const XidCounts& xids);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_GPU_HEALTH_H_
