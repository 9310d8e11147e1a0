#include "base/process/process.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/fork_exec.h"
#include "base/process/marked_processes.h"
#include "base/process/pidfd.h"
#include "base/process/process_errno.h"
#include "base/process/process_stat.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace muster {
namespace {

class RealProcess final : public Process {
 public:
  RealProcess(pid_t pid, uint64_t start_time, UniqueFd pidfd, bool child)
      : pid_(pid), start_time_(start_time), pidfd_(std::move(pidfd)), child_(child) {}

  pid_t pid() const override { return pid_; }
  uint64_t start_time() const override { return start_time_; }
  int poll_fd() const override { return pidfd_.get(); }

  absl::StatusOr<std::optional<ExitStatus>> Poll() override {
    if (exit_.has_value()) return exit_;
    return child_ ? PollChild() : PollAdopted();
  }

  absl::Status Signal(int signal) override {
    if (PidfdSignal(pidfd_.get(), signal) == 0) return absl::OkStatus();
    return ProcessErrnoStatus(errno, absl::StrCat("signal ", signal, " to process ", pid_));
  }

  absl::Status SignalGroup(int signal) override {
    // After it is reaped, the pid may belong to another process; until then the zombie holds it.
    if (exit_.has_value()) return absl::NotFoundError(absl::StrCat("process ", pid_, " ended"));
    if (kill(-pid_, signal) == 0) return absl::OkStatus();
    return ProcessErrnoStatus(errno, absl::StrCat("signal ", signal, " to process group ", pid_));
  }

 private:
  absl::StatusOr<std::optional<ExitStatus>> PollChild() {
    siginfo_t info = {};
    if (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info,
               WEXITED | WNOHANG) < 0) {
      return ProcessErrnoStatus(errno, absl::StrCat("wait for process ", pid_));
    }
    if (info.si_pid == 0) return std::nullopt;
    ExitStatus exit;
    if (info.si_code == CLD_EXITED) {
      exit.code = info.si_status;
    } else {
      exit.signal = info.si_status;
      exit.code = 128 + info.si_status;
    }
    exit_ = exit;
    return exit_;
  }

  absl::StatusOr<std::optional<ExitStatus>> PollAdopted() {
    if (HasEnded(pidfd_.get())) exit_ = ExitStatus{.known = false};
    return exit_;
  }

  const pid_t pid_;
  const uint64_t start_time_;
  const UniqueFd pidfd_;
  const bool child_;
  std::optional<ExitStatus> exit_;
};

class RealLauncher final : public ProcessLauncher {
 public:
  absl::StatusOr<std::unique_ptr<Process>> Launch(const ProcessSpec& spec) override;
  absl::StatusOr<std::unique_ptr<Process>> Adopt(pid_t pid, uint64_t start_time) override;
  int SignalMarked(const std::string& mark, int signal) override {
    return SignalMarkedProcesses(mark, signal);
  }
  absl::Status EndMarked(const std::string& mark, absl::Duration patience) override {
    return EndMarkedProcesses(mark, patience);
  }
};

absl::StatusOr<std::unique_ptr<Process>> RealLauncher::Launch(const ProcessSpec& spec) {
  if (spec.argv.empty()) return absl::InvalidArgumentError("no program to execute");
  MUSTER_ASSIGN_OR_RETURN(const pid_t pid, ForkExec(spec));
  UniqueFd pidfd(PidfdOpen(pid));
  if (pidfd.get() < 0) return ProcessErrnoStatus(errno, "pidfd_open");
  // The child is not reaped yet, so its /proc entry exists even if it has ended.
  MUSTER_ASSIGN_OR_RETURN(const ProcessStat stat, ReadProcessStat(pid));
  return std::make_unique<RealProcess>(pid, stat.start_time, std::move(pidfd), /*child=*/true);
}

absl::StatusOr<std::unique_ptr<Process>> RealLauncher::Adopt(pid_t pid, uint64_t start_time) {
  if (pid <= 0) return absl::NotFoundError(absl::StrCat("process ", pid));
  UniqueFd pidfd(PidfdOpen(pid));
  if (pidfd.get() < 0) return ProcessErrnoStatus(errno, absl::StrCat("process ", pid));
  // Read after the pidfd is open: if the start time matches, the pidfd refers to this very process.
  MUSTER_ASSIGN_OR_RETURN(const uint64_t actual, ProcessStartTime(pid));
  if (actual != start_time) {
    return absl::NotFoundError(absl::StrCat("process ", pid, " is another one by now"));
  }
  return std::make_unique<RealProcess>(pid, start_time, std::move(pidfd), /*child=*/false);
}

}  // namespace

absl::StatusOr<uint64_t> ProcessStartTime(pid_t pid) {
  MUSTER_ASSIGN_OR_RETURN(const ProcessStat stat, ReadProcessStat(pid));
  if (stat.ended) return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  return stat.start_time;
}

std::string DescribeExit(const ExitStatus& exit) {
  if (!exit.known) return "ended, exit code unknown";
  if (exit.signal == 0) return absl::StrCat("exit code ", exit.code);
  const char* name = sigabbrev_np(exit.signal);
  return absl::StrCat("killed by SIG", name == nullptr ? "?" : name, " (", exit.signal, ")");
}

ProcessLauncher& ProcessLauncher::Real() {
  static RealLauncher* const launcher = new RealLauncher;
  return *launcher;
}

}  // namespace muster
