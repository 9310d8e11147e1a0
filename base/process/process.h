#ifndef MUSTER_BASE_PROCESS_PROCESS_H_
#define MUSTER_BASE_PROCESS_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/process/process_spec.h"

// The seam to the operating system's processes: it starts, watches and ends them, and never
// addresses another process that got the same pid. FakeProcessLauncher (fake_process.h) is the test
// double.
//
// Processes are watched through pidfds, so it works for processes that are not children of this one
// (adopted after a restart) and does not depend on SIGCHLD.

namespace muster {

// The exit of a process: by itself with `code`, or by `signal` (then code is 128+signal, as in a
// shell). `known` is false for an adopted process, because only its parent receives its status.
struct ExitStatus {
  int code = 0;
  int signal = 0;
  bool known = true;

  bool operator==(const ExitStatus&) const = default;
};

// One process. Not thread-safe. Destroying it neither ends nor reaps the process.
class Process {
 public:
  virtual ~Process() = default;

  virtual pid_t pid() const = 0;
  // Start time in clock ticks since boot; with the pid, it identifies the process on this boot.
  virtual uint64_t start_time() const = 0;
  // A descriptor that becomes readable when the process ends, or -1.
  virtual int poll_fd() const = 0;
  // Returns the exit status once the process has ended, else nullopt. The first such call reaps a
  // child; later calls repeat the result.
  virtual absl::StatusOr<std::optional<ExitStatus>> Poll() = 0;
  // NotFound if the process has ended.
  virtual absl::Status Signal(int signal) = 0;
  // Signals the process group that this process leads; only valid if it leads one.
  virtual absl::Status SignalGroup(int signal) = 0;
};

class ProcessLauncher {
 public:
  virtual ~ProcessLauncher() = default;

  // Returns NotFound, PermissionDenied ..., with argv[0] and the reason, if it cannot be executed.
  virtual absl::StatusOr<std::unique_ptr<Process>> Launch(const ProcessSpec& spec) = 0;
  // Attaches to a running process. NotFound if it is gone or `pid` now belongs to another one.
  virtual absl::StatusOr<std::unique_ptr<Process>> Adopt(pid_t pid, uint64_t start_time) = 0;
  // Sends `signal` to every process that was started with `mark`, and to all its descendants;
  // returns the number of processes found. Zombies and this process do not count.
  virtual int SignalMarked(const std::string& mark, int signal) = 0;
  // Kills the processes that SignalMarked finds, with any that they start meanwhile, and returns
  // once all have ended. DeadlineExceeded if one, in an uninterruptible system call, has not ended
  // within `patience`, or if processes come and go so fast that this is not certain by then.
  virtual absl::Status EndMarked(const std::string& mark, absl::Duration patience) = 0;

  // The operating system's processes. Lives forever; thread-safe.
  static ProcessLauncher& Real();
};

// Returns the start time of a running process; NotFound if it has ended. A zombie has ended.
absl::StatusOr<uint64_t> ProcessStartTime(pid_t pid);

// Returns "exit code 3" or "killed by SIGKILL (9)".
std::string DescribeExit(const ExitStatus& exit);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_PROCESS_H_
