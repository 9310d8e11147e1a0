#include "operator/limits.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/logging.h"
#include "base/process/process_limits.h"

namespace muster::control {

void RaiseLimits() {
  constexpr int64_t kOwnFiles = 256;
  constexpr int64_t kFewAgents = 5000;
  const int64_t files = RaiseOpenFileLimit();
  if (files - kOwnFiles >= kFewAgents) return;
  MUSTER_LOG(WARN, "few open files are allowed: raise the hard limit (ulimit -Hn)",
             {"limit", files}, {"agents", std::max<int64_t>(0, files - kOwnFiles)});
}

void LimitHeaps() {
  constexpr int kLargeBuffer = 128 << 10;
  constexpr int kHeaps = 4;
  ::mallopt(M_MMAP_THRESHOLD, kLargeBuffer);  // otherwise glibc raises it by itself
  ::mallopt(M_ARENA_MAX, kHeaps);
  // Otherwise gRPC reads into 8 KB per connection, whatever its channel arguments are.
  ::setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", /*overwrite=*/0);
}

}  // namespace muster::control
