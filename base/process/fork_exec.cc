#include "base/process/fork_exec.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/process/process_errno.h"
#include "base/process/process_mark.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace muster {
namespace {

// Above any descriptor that a child is given, so that moving one never overwrites another.
constexpr int kHighFd = 200;

// All data of the child, prepared before the fork, after which only system calls are safe.
struct ChildPlan {
  std::vector<std::string> paths;
  std::vector<char*> argv;
  std::vector<char*> env;
  std::vector<std::pair<int, int>> fds;  // source (all above kHighFd), target
  std::vector<UniqueFd> sources;         // of `fds`
  const char* cwd = nullptr;
  ProcessSpec::Group group = ProcessSpec::Group::kInherit;
  bool die_with_parent = false;
  std::optional<cpu_set_t> cpus;
  std::optional<uint64_t> mark;
  pid_t parent = 0;
  int error_fd = -1;
};

void CloseOnExecFrom(int first) {
  if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = first; fd < 4096; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// A child names the step that it could not do before it became its program.
enum class Step { kPrepare, kEnterFolder, kExecute };
struct ChildError {
  Step step = Step::kPrepare;
  int error = 0;  // errno
};

// Runs in the child between fork and exec; returns only to report an error.
ChildError BecomeProgram(const ChildPlan& plan) {
  if (plan.group == ProcessSpec::Group::kSession && setsid() < 0) return {Step::kPrepare, errno};
  if (plan.group == ProcessSpec::Group::kProcessGroup && setpgid(0, 0) < 0)
    return {Step::kPrepare, errno};
  if (plan.die_with_parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return {Step::kPrepare, errno};
    if (getppid() != plan.parent) raise(SIGKILL);  // it died before the line above
  }
  if (plan.cpus.has_value()) sched_setaffinity(0, sizeof(*plan.cpus), &*plan.cpus);
  if (plan.mark.has_value()) TakeMark(*plan.mark);
  if (plan.cwd != nullptr && chdir(plan.cwd) < 0) return {Step::kEnterFolder, errno};
  CloseOnExecFrom(3);
  for (const auto& [from, to] : plan.fds) {
    if (dup2(from, to) < 0) return {Step::kPrepare, errno};
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
  return {Step::kExecute, error};
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

std::optional<cpu_set_t> SetOf(const std::vector<int>& cpus) {
  if (cpus.empty()) return std::nullopt;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  return set;
}

// Plans that the child gets a copy of `parent` as its descriptor `target`; false, with errno, if it
// cannot be copied.
bool PlanDescriptor(int parent, int target, ChildPlan& plan) {
  plan.sources.emplace_back(fcntl(parent, F_DUPFD_CLOEXEC, kHighFd));
  plan.fds.emplace_back(plan.sources.back().get(), target);
  return plan.sources.back().get() >= 0;
}

// A descriptor above the limit of open files is an invalid argument to the kernel.
absl::Status FileLimitOr(absl::Status status) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > kHighFd) return status;
  return absl::ResourceExhaustedError(absl::StrCat(
      "at most ", limit.rlim_cur, " open files are allowed (ulimit -n), and more than ", kHighFd,
      " are needed to start a process"));
}

absl::Status PlanDescriptors(const ProcessSpec& spec, ChildPlan& plan) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!PlanDescriptor(null.get(), STDIN_FILENO, plan)) {
    return FileLimitOr(ProcessErrnoStatus(errno, "/dev/null"));
  }
  for (const ProcessSpec::FdMapping& mapping : spec.fds) {
    if (!PlanDescriptor(mapping.parent, mapping.child, plan)) {
      return FileLimitOr(ProcessErrnoStatus(errno, absl::StrCat("descriptor ", mapping.parent)));
    }
  }
  return absl::OkStatus();
}

std::string Describe(Step step, const ChildPlan& plan, const std::string& program) {
  switch (step) {
    case Step::kPrepare:
      return absl::StrCat("cannot prepare a process for ", program);
    case Step::kEnterFolder:
      return absl::StrCat("cannot start ", program, " in the working directory ", plan.cwd);
    case Step::kExecute:
      return absl::StrCat("cannot execute ", program);
  }
  return program;
}

// Forks and executes; returns the pid, or an error. All signals are blocked around the fork so that
// none of this process's handlers runs in the child.
absl::StatusOr<pid_t> ForkExecPlan(ChildPlan& plan, const std::string& program) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) < 0) return ProcessErrnoStatus(errno, "pipe");
  const UniqueFd read_end(pipe_fds[0]);
  UniqueFd low_write_end(pipe_fds[1]);
  UniqueFd write_end(fcntl(low_write_end.get(), F_DUPFD_CLOEXEC, kHighFd));
  if (write_end.get() < 0) return FileLimitOr(ProcessErrnoStatus(errno, "pipe"));
  low_write_end.Reset();
  plan.error_fd = write_end.get();
  plan.parent = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) {
    const ChildError error = BecomeProgram(plan);
    const ssize_t ignored = write(plan.error_fd, &error, sizeof(error));
    _exit(ignored == sizeof(error) ? 127 : 126);
  }
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return ProcessErrnoStatus(fork_error, "fork");
  write_end.Reset();
  ChildError error;
  ssize_t n;
  do {
    n = read(read_end.get(), &error, sizeof(error));
  } while (n < 0 && errno == EINTR);
  if (n == 0) return pid;  // exec closed the pipe
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ProcessErrnoStatus(error.error, Describe(error.step, plan, program));
}

}  // namespace

absl::StatusOr<pid_t> ForkExec(const ProcessSpec& spec) {
  ChildPlan plan;
  plan.paths = CandidatePaths(spec);
  plan.argv = Pointers(spec.argv);
  plan.env = Pointers(spec.env);
  plan.cwd = spec.cwd.empty() ? nullptr : spec.cwd.c_str();
  plan.group = spec.group;
  plan.die_with_parent = spec.die_with_parent;
  plan.cpus = SetOf(spec.cpus);
  if (!spec.mark.empty()) plan.mark = MarkNumber(spec.mark);
  MUSTER_RETURN_IF_ERROR(PlanDescriptors(spec, plan));
  return ForkExecPlan(plan, spec.argv[0]);
}

}  // namespace muster
