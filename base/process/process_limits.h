#ifndef MUSTER_BASE_PROCESS_PROCESS_LIMITS_H_
#define MUSTER_BASE_PROCESS_PROCESS_LIMITS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace muster {

// Raises this process's soft limit of open files, which is low for the sake of programs that use
// select(), to the hard limit. Returns the limit that is then in force.
int64_t RaiseOpenFileLimit();

// Returns how many more processes and threads this user may start; INT64_MAX if there is no limit.
// Others may start some in the meantime.
int64_t ProcessesLeft();

// A number of files and processes, as a program may have or needs them.
struct ProcessRoom {
  int64_t open_files = 0;
  int64_t processes = 0;  // and threads
};

// FailedPrecondition, with what to do, if there is less room than needed. A program that finds out
// in the middle of its work fails with a message about whatever it was about to start. Pure.
absl::Status CheckProcessRoom(const ProcessRoom& room, const ProcessRoom& needed);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_PROCESS_LIMITS_H_
