#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/process_mark.h"
#include "base/status_macros.h"

namespace muster {
namespace {

// Above any descriptor that a child is given, so that moving one never overwrites another.
constexpr int kHighFd = 200;

absl::Status ErrnoStatus(int error, const std::string& what) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case ENOEXEC:
      return absl::PermissionDeniedError(message);
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&&) = delete;
  ~UniqueFd() { Reset(); }
  int get() const { return fd_; }
  void Reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

int PidfdOpen(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }
int PidfdSignal(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}
// Returns true for a zombie, too.
bool HasEnded(int pidfd) {
  pollfd fd = {pidfd, POLLIN, 0};
  return poll(&fd, 1, 0) > 0;
}

// Returns the fields of /proc/PID/stat after the name, which may itself hold spaces and
// parentheses; the first is field 3, the state.
absl::StatusOr<std::vector<std::string>> StatFields(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus(errno, absl::StrCat("process ", pid));
  char text[1024];
  const ssize_t n = read(fd.get(), text, sizeof(text));
  if (n <= 0) return absl::NotFoundError(absl::StrCat("process ", pid, " is gone"));
  const std::string line(text, static_cast<size_t>(n));
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return absl::InternalError(path + " has no name field");
  std::vector<std::string> fields =
      absl::StrSplit(line.substr(name_end + 1), ' ', absl::SkipWhitespace());
  if (fields.size() < 20) return absl::InternalError(path + " is short");
  return fields;
}

absl::StatusOr<uint64_t> StartTimeIn(const std::vector<std::string>& fields, pid_t pid) {
  uint64_t ticks = 0;  // field 22
  if (!absl::SimpleAtoi(fields[19], &ticks)) {
    return absl::InternalError(absl::StrCat("/proc/", pid, "/stat: bad start time"));
  }
  return ticks;
}

// All data of the child, prepared before the fork, after which only system calls are safe.
struct ChildPlan {
  std::vector<std::string> paths;
  std::vector<char*> argv;
  std::vector<char*> env;
  std::vector<std::pair<int, int>> fds;  // source (all above kHighFd), target
  const char* cwd = nullptr;
  ProcessSpec::Group group = ProcessSpec::Group::kInherit;
  bool die_with_parent = false;
  std::optional<uint64_t> mark;
  pid_t parent = 0;
  int error_fd = -1;
};

void CloseOnExecFrom(int first) {
  if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = first; fd < 4096; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// Runs in the child between fork and exec; returns only to report errno.
int BecomeProgram(const ChildPlan& plan) {
  if (plan.group == ProcessSpec::Group::kSession && setsid() < 0) return errno;
  if (plan.group == ProcessSpec::Group::kProcessGroup && setpgid(0, 0) < 0) return errno;
  if (plan.die_with_parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return errno;
    if (getppid() != plan.parent) raise(SIGKILL);  // it died before the line above
  }
  if (plan.mark.has_value()) TakeMark(*plan.mark);
  if (plan.cwd != nullptr && chdir(plan.cwd) < 0) return errno;
  CloseOnExecFrom(3);
  for (const auto& [from, to] : plan.fds) {
    if (dup2(from, to) < 0) return errno;
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int error = ENOENT;
  for (const std::string& path : plan.paths) {
    execve(path.c_str(), plan.argv.data(), plan.env.data());
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
  }
  return error;
}

std::vector<std::string> CandidatePaths(const ProcessSpec& spec) {
  const std::string& program = spec.argv[0];
  if (program.find('/') != std::string::npos) return {program};
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& entry : spec.env) {
    if (entry.compare(0, 5, "PATH=") == 0) path = entry.substr(5);
  }
  std::vector<std::string> candidates;
  for (const std::string& folder : std::vector<std::string>(absl::StrSplit(path, ':'))) {
    candidates.push_back(absl::StrCat(folder.empty() ? "." : folder, "/", program));
  }
  return candidates;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Forks and executes; returns the pid, or an error. All signals are blocked around the fork so that
// none of this process's handlers runs in the child.
absl::StatusOr<pid_t> ForkExec(ChildPlan& plan, const std::string& program) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) < 0) return ErrnoStatus(errno, "pipe");
  const UniqueFd read_end(pipe_fds[0]);
  UniqueFd low_write_end(pipe_fds[1]);
  UniqueFd write_end(fcntl(low_write_end.get(), F_DUPFD_CLOEXEC, kHighFd));
  low_write_end.Reset();
  plan.error_fd = write_end.get();
  plan.parent = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) {
    const int error = BecomeProgram(plan);
    const ssize_t ignored = write(plan.error_fd, &error, sizeof(error));
    _exit(ignored == sizeof(error) ? 127 : 126);
  }
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return ErrnoStatus(fork_error, "fork");
  write_end.Reset();
  int error = 0;
  ssize_t n;
  do {
    n = read(read_end.get(), &error, sizeof(error));
  } while (n < 0 && errno == EINTR);
  if (n == 0) return pid;  // exec closed the pipe
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ErrnoStatus(error, absl::StrCat("cannot execute ", program));
}

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
    return ErrnoStatus(errno, absl::StrCat("signal ", signal, " to process ", pid_));
  }

  absl::Status SignalGroup(int signal) override {
    // After it is reaped, the pid may belong to another process; until then the zombie holds it.
    if (exit_.has_value()) return absl::NotFoundError(absl::StrCat("process ", pid_, " ended"));
    if (kill(-pid_, signal) == 0) return absl::OkStatus();
    return ErrnoStatus(errno, absl::StrCat("signal ", signal, " to process group ", pid_));
  }

 private:
  absl::StatusOr<std::optional<ExitStatus>> PollChild() {
    siginfo_t info = {};
    if (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info,
               WEXITED | WNOHANG) < 0) {
      return ErrnoStatus(errno, absl::StrCat("wait for process ", pid_));
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
  int SignalMarked(const std::string& mark, int signal) override;
  absl::Status EndMarked(const std::string& mark, absl::Duration patience) override;
};

absl::StatusOr<std::unique_ptr<Process>> RealLauncher::Launch(const ProcessSpec& spec) {
  if (spec.argv.empty()) return absl::InvalidArgumentError("no program to execute");
  ChildPlan plan;
  plan.paths = CandidatePaths(spec);
  plan.argv = Pointers(spec.argv);
  plan.env = Pointers(spec.env);
  plan.cwd = spec.cwd.empty() ? nullptr : spec.cwd.c_str();
  plan.group = spec.group;
  plan.die_with_parent = spec.die_with_parent;
  if (!spec.mark.empty()) plan.mark = MarkNumber(spec.mark);
  std::vector<UniqueFd> moved;
  const auto move_up = [&](int from, int to) {
    moved.emplace_back(fcntl(from, F_DUPFD_CLOEXEC, kHighFd));
    plan.fds.emplace_back(moved.back().get(), to);
    return moved.back().get() >= 0;
  };
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!move_up(null.get(), STDIN_FILENO)) return ErrnoStatus(errno, "/dev/null");
  for (const ProcessSpec::FdMapping& mapping : spec.fds) {
    if (!move_up(mapping.parent, mapping.child)) {
      return ErrnoStatus(errno, absl::StrCat("descriptor ", mapping.parent));
    }
  }
  MUSTER_ASSIGN_OR_RETURN(const pid_t pid, ForkExec(plan, spec.argv[0]));
  UniqueFd pidfd(PidfdOpen(pid));
  if (pidfd.get() < 0) return ErrnoStatus(errno, "pidfd_open");
  // The child is not reaped yet, so its /proc entry exists even if it has ended.
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> fields, StatFields(pid));
  MUSTER_ASSIGN_OR_RETURN(const uint64_t start_time, StartTimeIn(fields, pid));
  return std::make_unique<RealProcess>(pid, start_time, std::move(pidfd), /*child=*/true);
}

absl::StatusOr<std::unique_ptr<Process>> RealLauncher::Adopt(pid_t pid, uint64_t start_time) {
  if (pid <= 0) return absl::NotFoundError(absl::StrCat("process ", pid));
  UniqueFd pidfd(PidfdOpen(pid));
  if (pidfd.get() < 0) return ErrnoStatus(errno, absl::StrCat("process ", pid));
  // Read after the pidfd is open: if the start time matches, the pidfd refers to this very process.
  MUSTER_ASSIGN_OR_RETURN(const uint64_t actual, ProcessStartTime(pid));
  if (actual != start_time) {
    return absl::NotFoundError(absl::StrCat("process ", pid, " is another one by now"));
  }
  return std::make_unique<RealProcess>(pid, start_time, std::move(pidfd), /*child=*/false);
}

// A process, by its pid and start time.
using Identity = std::pair<pid_t, uint64_t>;

// The result of one scan over all processes.
struct Pass {
  std::vector<UniqueFd> signalled;  // had the mark and were running
  std::set<Identity> zombies;       // had the mark, and have ended but not been reaped
  // True if a process ended during this scan, or since the previous one, that had the mark or could
  // not be read in time. It may have started another.
  bool missed = false;
};

std::optional<Identity> IdentityOf(pid_t pid) {
  const absl::StatusOr<std::vector<std::string>> fields = StatFields(pid);
  if (!fields.ok()) return std::nullopt;
  const absl::StatusOr<uint64_t> started = StartTimeIn(*fields, pid);
  return started.ok() ? std::optional<Identity>({pid, *started}) : std::nullopt;
}

// Records in `pass` a process that ended before it could be signalled. One that was a zombie in the
// previous pass has started nothing since.
void RecordFinishedCommands(pid_t pid, bool marked, const std::set<Identity>& zombies_before,
                            Pass& pass) {
  const std::optional<Identity> zombie = marked ? IdentityOf(pid) : std::nullopt;
  if (zombie.has_value()) {
    pass.missed |= zombies_before.count(*zombie) == 0;
    pass.zombies.insert(*zombie);
    return;
  }
  // A zombie without the mark still exists.
  pass.missed |= marked || kill(pid, 0) != 0;
}

Pass SignalAll(const std::string& mark, int signal, const std::set<Identity>& zombies_before = {}) {
  Pass pass;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return pass;
  while (const dirent* file = readdir(proc)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(file->d_name, &pid) || pid == getpid()) continue;
    // Opened before the mark is read: the signal goes to the process that was read, or nowhere.
    UniqueFd pidfd(PidfdOpen(pid));
    const bool marked = pidfd.get() >= 0 && HasMark(pid, mark);
    if (pidfd.get() < 0 || HasEnded(pidfd.get())) {
      RecordFinishedCommands(pid, marked, zombies_before, pass);
    } else if (marked && PidfdSignal(pidfd.get(), signal) == 0) {
      pass.signalled.push_back(std::move(pidfd));
    }
  }
  closedir(proc);
  return pass;
}

int RealLauncher::SignalMarked(const std::string& mark, int signal) {
  return static_cast<int>(SignalAll(mark, signal).signalled.size());
}

absl::Status RealLauncher::EndMarked(const std::string& mark, absl::Duration patience) {
  const absl::Time deadline = Clock::Real().Monotonic() + patience;
  // Pids are listed and assigned in ascending order, so a child is listed after its parent unless
  // the pids wrapped around in between: hence two passes that find no process. A killed process
  // starts no other. Unrelated processes end all the time on a busy machine, so a pass that only
  // missed something counts a little, too: a chain of processes is caught long before that
  // suffices.
  constexpr int kEnough = 2 * 500;
  Pass pass;
  for (int empty = 0; empty < kEnough;) {
    pass = SignalAll(mark, SIGKILL, pass.zombies);
    const std::vector<UniqueFd>& told = pass.signalled;
    empty = !told.empty() ? 0 : empty + (pass.missed ? 1 : kEnough / 2);
    for (const UniqueFd& pidfd : told) {
      const absl::Duration left = deadline - Clock::Real().Monotonic();
      pollfd fd = {pidfd.get(), POLLIN, 0};
      poll(&fd, 1, static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(left))));
    }
    const bool nothing = told.empty() && !pass.missed;
    if (nothing || empty >= kEnough || Clock::Real().Monotonic() < deadline) continue;
    return absl::DeadlineExceededError(
        absl::StrCat("processes with ", mark, told.empty() ? " may still run " : " still run ",
                     absl::FormatDuration(patience), " after the first SIGKILL: ",
                     told.empty() ? "some ended before they could be read"
                                  : absl::StrCat(told.size(), " at last")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint64_t> ProcessStartTime(pid_t pid) {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> fields, StatFields(pid));
  if (fields[0] == "Z" || fields[0] == "X") {
    return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  }
  return StartTimeIn(fields, pid);
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
