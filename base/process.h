#ifndef MUSTER_BASE_PROCESS_H_
#define MUSTER_BASE_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

// The seam to the operating system's processes: start, watch and end them without ever addressing a
// process that merely got the same number. FakeProcessLauncher (fake_process.h) behaves in tests.
//
// Watching goes through pidfds, so it works for processes that are not our children (adopted after
// a restart) and nothing depends on SIGCHLD.

namespace muster {

// How a process ended: by itself with `code`, or by `signal` (then code is 128+signal, as a shell
// reports it). `known` is false for an adopted process, whose end only its parent is told.
struct ExitStatus {
  int code = 0;
  int signal = 0;
  bool known = true;

  bool operator==(const ExitStatus&) const = default;
};

struct ProcessSpec {
  enum class Group {
    kInherit,
    kProcessGroup,  // leads a new process group of the same session
    kSession,       // leads a new session
  };
  struct FdMapping {
    int parent = -1;
    int child = -1;
  };

  // argv[0] without a slash is looked up in PATH of `env`.
  std::vector<std::string> argv;
  // The whole environment, as NAME=VALUE.
  std::vector<std::string> env;
  std::string cwd;
  // The child has these descriptors and stdin from /dev/null, stdout and stderr as here unless
  // mapped; every other one is closed.
  std::vector<FdMapping> fds;
  Group group = Group::kInherit;
  // The kernel kills it (SIGKILL) when the *thread* that launched it ends: launch from a thread
  // that lives as long as the process.
  bool die_with_parent = false;
  // NAME=VALUE, best an entry of `env`, too: how it and its descendants are found again when it is
  // gone (process_mark.h).
  std::string mark;
};

// One process. Not thread-safe. Destroying it neither ends nor reaps the process.
class Process {
 public:
  virtual ~Process() = default;

  virtual pid_t pid() const = 0;
  // Clock ticks from boot to its start; with the pid, its identity on this boot.
  virtual uint64_t start_time() const = 0;
  // Becomes readable when the process ends; -1 when there is none.
  virtual int poll_fd() const = 0;
  // Its exit once it ended, else nullopt. For a child it reaps it first time; afterwards it
  // repeats.
  virtual absl::StatusOr<std::optional<ExitStatus>> Poll() = 0;
  // NotFound when it has ended.
  virtual absl::Status Signal(int signal) = 0;
  // To the whole process group that it leads. Only valid for one started with a group of its own.
  virtual absl::Status SignalGroup(int signal) = 0;
};

class ProcessLauncher {
 public:
  virtual ~ProcessLauncher() = default;

  // NotFound, PermissionDenied … with argv[0] and the reason when it cannot be executed.
  virtual absl::StatusOr<std::unique_ptr<Process>> Launch(const ProcessSpec& spec) = 0;
  // A running process that somebody else started. NotFound when it is gone or `pid` is another's
  // now.
  virtual absl::StatusOr<std::unique_ptr<Process>> Adopt(pid_t pid, uint64_t start_time) = 0;
  // Sends `signal` to every process that was started with `mark`, and to the descendants of one
  // that was, wherever they went; how many it found. Zombies and this process do not count.
  virtual int SignalMarked(const std::string& mark, int signal) = 0;
  // Kills all of them, and what they start meanwhile, and returns when they have ended.
  // DeadlineExceeded when one of them, in a system call that cannot be interrupted, has not within
  // `patience`, or when so many processes come and go that it is not known by then.
  virtual absl::Status EndMarked(const std::string& mark, absl::Duration patience) = 0;

  // The operating system. Lives for ever; thread-safe.
  static ProcessLauncher& Real();
};

// Start time of a running process; NotFound when there is none. A zombie, which has ended and waits
// to be reaped, does not run.
absl::StatusOr<uint64_t> ProcessStartTime(pid_t pid);

// "exit code 3" or "killed by SIGKILL (9)".
std::string DescribeExit(const ExitStatus& exit);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_H_
