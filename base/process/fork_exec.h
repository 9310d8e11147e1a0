#ifndef MUSTER_BASE_PROCESS_FORK_EXEC_H_
#define MUSTER_BASE_PROCESS_FORK_EXEC_H_

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "base/process/process_spec.h"

namespace muster {

// Starts a child of this process and returns its pid once it executes the program of `spec`, whose
// argv is not empty. NotFound, PermissionDenied ..., with argv[0] and the reason, if it cannot be
// executed; no child is left then. Thread-safe: between fork and exec the child makes system calls
// only.
absl::StatusOr<pid_t> ForkExec(const ProcessSpec& spec);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_FORK_EXEC_H_
