#ifndef MUSTER_BASE_PROCESS_PROCESS_STAT_H_
#define MUSTER_BASE_PROCESS_PROCESS_STAT_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace muster {

// A process by its entry in /proc, which exists until the process is reaped.
struct ProcessStat {
  bool ended = false;       // it is a zombie
  uint64_t start_time = 0;  // in clock ticks since boot
};

// NotFound if there is no process with this pid.
absl::StatusOr<ProcessStat> ReadProcessStat(pid_t pid);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_PROCESS_STAT_H_
