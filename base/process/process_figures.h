#ifndef MUSTER_BASE_PROCESS_PROCESS_FIGURES_H_
#define MUSTER_BASE_PROCESS_PROCESS_FIGURES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace muster {

// Resource usage of this process as the kernel reports it.
struct ProcessFigures {
  double cpu_seconds = 0;  // user and system
  double start_time = 0;   // seconds since the epoch
  int64_t resident_bytes = 0;
  int64_t virtual_bytes = 0;
  int64_t threads = 0;
  int64_t open_fds = 0;
  int64_t max_fds = 0;
};

// The used fields of /proc/PID/stat, with ticks and pages as the kernel counts them.
// ParseProcessStat accepts command names with spaces and brackets; a malformed line is
// kInvalidArgument.
struct ProcessStatLine {
  int64_t cpu_ticks = 0;
  int64_t start_ticks = 0;  // since boot
  int64_t virtual_bytes = 0;
  int64_t resident_pages = 0;
  int64_t threads = 0;
};
absl::StatusOr<ProcessStatLine> ParseProcessStat(const std::string& line);

// Reads /proc. A value that cannot be read is 0.
ProcessFigures ReadProcessFigures();

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_PROCESS_FIGURES_H_
