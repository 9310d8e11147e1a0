#ifndef MUSTER_AGENT_NODE_NODE_MEMORY_H_
#define MUSTER_AGENT_NODE_NODE_MEMORY_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/node/gpu_health.h"
#include "agent/node/machine_past.h"
#include "base/files/files.h"

namespace muster::agent {

// All that the node agent remembers since its machine started. A value.
struct NodeMemory {
  XidCounts xids;
  MachinePast machine;
};

// Returns what `parse` makes of a file in which an earlier agent of this machine kept something. A
// missing file, as after a start of the machine, has nothing in it.
template <typename T>
absl::StatusOr<T> LoadStateFile(Files& files, const std::string& path,
                                absl::StatusOr<T> (*parse)(std::string_view text)) {
  constexpr size_t kMaxBytes = size_t{1} << 20;
  const absl::StatusOr<std::string> text = ReadFile(files, path, kMaxBytes);
  if (absl::IsNotFound(text.status())) return T();
  if (!text.ok()) return text.status();
  return parse(*text);
}

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_NODE_MEMORY_H_
