#ifndef MUSTER_BASE_PROCESS_MARKED_PROCESSES_H_
#define MUSTER_BASE_PROCESS_MARKED_PROCESSES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

// Finds the processes of a mark (process_mark.h) among all of the machine, in passes over /proc,
// and signals or ends them: ProcessLauncher's SignalMarked and EndMarked on the operating system.
// Thread-safe.

namespace muster {

// Makes one pass and returns the number of processes that were signalled.
int SignalMarkedProcesses(const std::string& mark, int signal);

// Makes passes with SIGKILL until it is certain that none is left. DeadlineExceeded if that is not
// so within `patience`.
absl::Status EndMarkedProcesses(const std::string& mark, absl::Duration patience);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_MARKED_PROCESSES_H_
