#ifndef MUSTER_BASE_PROCESS_PROCESS_ERRNO_H_
#define MUSTER_BASE_PROCESS_PROCESS_ERRNO_H_

#include <string>

#include "absl/status/status.h"

namespace muster {

// Returns the error of a system call about a process, as "`what`: <the system's words>". NotFound:
// there is no such program or process; PermissionDenied: this user may not, or the file is no
// program; ResourceExhausted: the system has no more processes, descriptors or memory; else
// Internal.
absl::Status ProcessErrnoStatus(int error, const std::string& what);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_PROCESS_ERRNO_H_
