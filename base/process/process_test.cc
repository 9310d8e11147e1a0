#include "base/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/random_name.h"
#include "base/testing/fake_process.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

ExitStatus WaitFor(Process& process) {
  pollfd fd = {process.poll_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&fd, 1, kPatienceMillis), 1) << "process did not end";
  const auto exit = process.Poll();
  EXPECT_TRUE(exit.ok() && exit->has_value());
  return exit.ok() && exit->has_value() ? **exit : ExitStatus{};
}

std::string ReadAll(int fd) {
  std::string text;
  char bytes[512];
  while (true) {
    const ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n <= 0) return text;
    text.append(bytes, static_cast<size_t>(n));
  }
}

ProcessSpec Shell(const std::string& script) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", script};
  spec.env = {"PATH=/usr/bin:/bin"};
  spec.group = ProcessSpec::Group::kProcessGroup;
  return spec;
}

std::unique_ptr<Process> Start(const ProcessSpec& spec) {
  auto process = ProcessLauncher::Real().Launch(spec);
  EXPECT_TRUE(process.ok()) << process.status();
  return *std::move(process);
}

// Returns the CPUs on which this process may run.
std::vector<int> OwnCpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

TEST(ProcessTest, RunsOnTheCpusThatItWasGivenAndAnywhereIfItCannotHaveThem) {
  const std::vector<int> own = OwnCpus();
  const auto runs_on = [](std::vector<int> cpus) {
    int pipe_fds[2];
    EXPECT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
    ProcessSpec spec = Shell("grep Cpus_allowed_list: /proc/self/status | cut -f2");
    spec.cpus = std::move(cpus);
    spec.fds = {{pipe_fds[1], 1}};
    const auto process = Start(spec);
    close(pipe_fds[1]);
    const std::string text = ReadAll(pipe_fds[0]);
    close(pipe_fds[0]);
    EXPECT_EQ(WaitFor(*process).code, 0);
    return text;
  };
  EXPECT_EQ(runs_on({own.back()}), absl::StrCat(own.back(), "\n"));
  EXPECT_EQ(runs_on({CPU_SETSIZE - 1}), runs_on({}));
}

TEST(ProcessTest, ReportsCodeAndSignal) {
  EXPECT_EQ(WaitFor(*Start(Shell("exit 3"))), (ExitStatus{.code = 3}));
  auto process = Start(Shell("sleep 100"));
  EXPECT_FALSE((*process->Poll()).has_value());
  ASSERT_TRUE(process->SignalGroup(SIGKILL).ok());
  const ExitStatus exit = WaitFor(*process);
  EXPECT_EQ(exit, (ExitStatus{.code = 137, .signal = 9}));
  EXPECT_EQ(DescribeExit(exit), "killed by SIGKILL (9)");
  EXPECT_EQ(process->Signal(SIGTERM).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(process->SignalGroup(SIGTERM).code(), absl::StatusCode::kNotFound);
}

TEST(ProcessTest, MissingProgramIsNotFoundAndNamed) {
  ProcessSpec spec = Shell("");
  spec.argv = {"/no/such/program"};
  const auto process = ProcessLauncher::Real().Launch(spec);
  EXPECT_EQ(process.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(process.status().message(),
            "cannot execute /no/such/program: No such file or directory");
  spec.argv = {"/etc/passwd"};
  EXPECT_EQ(ProcessLauncher::Real().Launch(spec).status().code(),
            absl::StatusCode::kPermissionDenied);
}

// The program was named, which is there.
TEST(ProcessTest, AMissingWorkingDirectoryIsNamedAndNotTheProgram) {
  ProcessSpec spec = Shell("exit 0");
  spec.cwd = "/no/such/dir";
  EXPECT_EQ(ProcessLauncher::Real().Launch(spec).status().message(),
            absl::StrCat("cannot start ", spec.argv[0],
                         " in the working directory /no/such/dir: No such file or directory"));
}

// It was "/dev/null: Invalid argument".
TEST(ProcessTest, ALimitOfOpenFilesThatIsTooLowIsNamed) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 128;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto process = ProcessLauncher::Real().Launch(Shell("exit 0"));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(process.status().message(),
            "at most 128 open files are allowed (ulimit -n), and more than 200 are needed to start "
            "a process");
}

TEST(ProcessTest, GivesExactlyTheMappedDescriptorsEnvironmentAndFolder) {
  int out[2], extra[2], leaked[2];
  ASSERT_EQ(pipe(out), 0);
  ASSERT_EQ(pipe(extra), 0);
  ASSERT_EQ(pipe(leaked), 0);  // without O_CLOEXEC, as a careless library would
  // Descriptor 3, the target of a mapping, is likely to be in use in this process. The script has
  // no pipeline, because a shell that starts one holds more descriptors.
  ProcessSpec spec = Shell("echo $A $(pwd) $PATH; ls /proc/$$/fd; echo extra >&3");
  spec.env.push_back("A=b");
  spec.cwd = "/tmp";
  spec.fds = {{out[1], 1}, {extra[1], 3}};
  auto process = Start(spec);
  for (int fd : {out[1], extra[1], leaked[0], leaked[1]}) close(fd);
  EXPECT_EQ(WaitFor(*process).code, 0);
  EXPECT_EQ(ReadAll(out[0]), "b /tmp /usr/bin:/bin\n0\n1\n2\n3\n");
  EXPECT_EQ(ReadAll(extra[0]), "extra\n");
  close(out[0]);
  close(extra[0]);
}

TEST(ProcessTest, DiesWithTheThreadThatLaunchedIt) {
  std::unique_ptr<Process> process;
  std::thread launcher([&] {
    ProcessSpec spec = Shell("sleep 100");
    spec.die_with_parent = true;
    process = Start(spec);
  });
  launcher.join();
  EXPECT_EQ(WaitFor(*process).signal, SIGKILL);
}

TEST(ProcessTest, AdoptsOnlyTheVeryProcess) {
  auto process = Start(Shell("sleep 100"));
  ProcessLauncher& launcher = ProcessLauncher::Real();
  EXPECT_EQ(launcher.Adopt(process->pid(), process->start_time() + 1).status().code(),
            absl::StatusCode::kNotFound);
  auto adopted = launcher.Adopt(process->pid(), process->start_time());
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  EXPECT_FALSE((*(*adopted)->Poll()).has_value());
  ASSERT_TRUE((*adopted)->Signal(SIGKILL).ok());
  const ExitStatus exit = WaitFor(**adopted);
  EXPECT_FALSE(exit.known);
  EXPECT_EQ(WaitFor(*process).signal, SIGKILL);
  EXPECT_EQ(launcher.Adopt(process->pid(), process->start_time()).status().code(),
            absl::StatusCode::kNotFound);
}

// Regression: a killed operator that its parent had not reaped was taken for a live one.
TEST(ProcessTest, AZombieDoesNotRun) {
  auto process = Start(Shell("sleep 100"));
  const uint64_t start_time = process->start_time();
  EXPECT_EQ(ProcessStartTime(process->pid()).value(), start_time);
  ASSERT_TRUE(process->SignalGroup(SIGKILL).ok());
  pollfd fd = {process->poll_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&fd, 1, kPatienceMillis), 1);
  // Not reaped: its entry in /proc still exists, and still belongs to it.
  ASSERT_EQ(kill(process->pid(), 0), 0);
  EXPECT_EQ(ProcessStartTime(process->pid()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ProcessLauncher::Real().Adopt(process->pid(), start_time).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(WaitFor(*process).signal, 9);
}

// A process with a mark of its own and its descendants: one line of output for each process that is
// ready, and the end of the output when the last one has ended.
class Family {
 public:
  explicit Family(const std::string& script)
      : mark_(absl::StrCat("MUSTER_TEST_MARK=", RandomName())) {
    int out[2];
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    out_ = out[0];
    ProcessSpec spec = Shell(script);
    spec.env.push_back(mark_);
    spec.env.push_back("AGAIN=exec sh -c \"$AGAIN\"");
    spec.mark = mark_;
    spec.fds = {{out[1], 1}};
    process_ = Start(spec);
    close(out[1]);
  }
  ~Family() {
    EXPECT_TRUE(ProcessLauncher::Real().EndMarked(mark_, absl::Seconds(60)).ok());
    close(out_);
  }

  Process& process() { return *process_; }
  const std::string& mark() const { return mark_; }
  int Signal(int signal) { return ProcessLauncher::Real().SignalMarked(mark_, signal); }
  std::string ReadLine() {
    std::string line;
    for (char c = 0; read(out_, &c, 1) == 1 && c != '\n';) line.push_back(c);
    return line;
  }
  std::string ReadRest() { return ReadAll(out_); }

 private:
  const std::string mark_;
  int out_ = -1;
  std::unique_ptr<Process> process_;
};

// Ends the first process, as LocalNodes finds it; checks that the others are found and ended.
void ExpectFoundAndEnded(Family& family) {
  ASSERT_TRUE(family.process().Signal(SIGKILL).ok());
  EXPECT_EQ(WaitFor(family.process()).signal, SIGKILL);
  EXPECT_GE(family.Signal(0), 1);
  const absl::Status ended = ProcessLauncher::Real().EndMarked(family.mark(), absl::Seconds(60));
  EXPECT_TRUE(ended.ok()) << ended;
  EXPECT_EQ(family.Signal(0), 0);
  EXPECT_EQ(family.ReadRest(), "");  // ends only when the last writer has ended
}

TEST(ProcessTest, ADescendantInASessionOfItsOwnIsFound) {
  Family family("setsid sh -c 'echo ready; kill -STOP $$' & wait");
  EXPECT_EQ(family.ReadLine(), "ready");
  EXPECT_EQ(ProcessLauncher::Real().SignalMarked(family.mark() + "0", SIGKILL), 0);
  ExpectFoundAndEnded(family);
}

TEST(ProcessTest, ADescendantThatClearedItsEnvironmentIsFound) {
  Family family("env -i /bin/sh -c 'echo ready; kill -STOP $$' & wait");
  EXPECT_EQ(family.ReadLine(), "ready");
  ExpectFoundAndEnded(family);
}

// Its parents have ended, and its session and environment are others; the last shell waits, so that
// the first process lives until it is killed.
TEST(ProcessTest, ADescendantThatForkedTwiceIsFound) {
  Family family(
      "(setsid env -i /bin/sh -c '(trap \"\" HUP; echo ready; exec sleep 1000) &' &); "
      "exec sleep 1000");
  EXPECT_EQ(family.ReadLine(), "ready");
  ExpectFoundAndEnded(family);
}

// A process shows no environment for a moment of execve.
TEST(ProcessTest, AProcessThatKeepsExecutingIsFoundEveryTime) {
  Family family("eval \"$AGAIN\"");
  int missed = 0;
  for (int i = 0; i < 300; ++i) missed += family.Signal(0) == 1 ? 0 : 1;
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(family.Signal(SIGKILL), 1);
  EXPECT_EQ(WaitFor(family.process()).signal, SIGKILL);
}

// Combines all obstacles: endless execve, a session of its own, an environment without its mark.
TEST(ProcessTest, ADaemonThatKeepsExecutingIsFoundEveryTime) {
  Family family(
      "(setsid env -i AGAIN=\"$AGAIN\" /bin/sh -c 'echo ready; eval \"$AGAIN\"' &); "
      "exec sleep 1000");
  EXPECT_EQ(family.ReadLine(), "ready");
  int missed = 0;
  for (int i = 0; i < 300; ++i) missed += family.Signal(0) >= 2 ? 0 : 1;
  EXPECT_EQ(missed, 0);
  ExpectFoundAndEnded(family);
}

// Each process that is found has started the next one and ended by the time it is killed.
TEST(ProcessTest, AChainOfProcessesThatNeverRestsIsEnded) {
  Family family("AGAIN='sh -c \"$AGAIN\" &'; export AGAIN; echo ready; eval \"$AGAIN\"");
  EXPECT_EQ(family.ReadLine(), "ready");
  EXPECT_EQ(WaitFor(family.process()).code, 0);
  const absl::Status ended = ProcessLauncher::Real().EndMarked(family.mark(), absl::Seconds(60));
  EXPECT_TRUE(ended.ok()) << ended;
  EXPECT_EQ(family.ReadRest(), "");
}

// A process that has ended unseen may have started another, so a pass that finds it is not enough.
TEST(ProcessTest, PassesThatOnlyMissedSomethingEndByTheDeadlineToo) {
  Family family("exit 0");
  pollfd ended = {family.process().poll_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&ended, 1, kPatienceMillis), 1);
  const absl::Status late = ProcessLauncher::Real().EndMarked(family.mark(), absl::ZeroDuration());
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
  EXPECT_THAT(late.message(), testing::HasSubstr("some ended before they could be read"));
  const absl::Status waited = ProcessLauncher::Real().EndMarked(family.mark(), absl::Seconds(60));
  EXPECT_TRUE(waited.ok()) << waited;
  EXPECT_EQ(WaitFor(family.process()).code, 0);
}

// A process started by another program, such as tools/testenv, has only the environment's mark.
TEST(ProcessTest, AProcessWithNothingButTheEnvironmentIsFound) {
  int out[2];
  ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
  ProcessSpec spec = Shell("echo ready; kill -STOP $$");
  const std::string mark = absl::StrCat("MUSTER_TEST_MARK=", RandomName());
  spec.env.push_back(mark);
  spec.fds = {{out[1], 1}};
  auto process = Start(spec);
  close(out[1]);
  char ready[6];
  ASSERT_EQ(read(out[0], ready, sizeof(ready)), 6);
  EXPECT_EQ(ProcessLauncher::Real().SignalMarked(mark, SIGKILL), 1);
  EXPECT_EQ(WaitFor(*process).signal, SIGKILL);
  close(out[0]);
}

TEST(FakeProcessTest, Behaves) {
  FakeProcessLauncher launcher;
  auto process = launcher.Launch(Shell("x"));
  ASSERT_TRUE(process.ok());
  launcher.state((*process)->pid()).ignores_term = true;
  EXPECT_TRUE((*process)->Signal(SIGTERM).ok());
  EXPECT_FALSE((*(*process)->Poll()).has_value());
  EXPECT_TRUE((*process)->Signal(SIGKILL).ok());
  EXPECT_EQ(**(*process)->Poll(), (ExitStatus{.code = 137, .signal = 9}));
  EXPECT_EQ((*process)->Signal(SIGTERM).code(), absl::StatusCode::kNotFound);
  launcher.FailNextLaunch(absl::NotFoundError("gone"));
  EXPECT_EQ(launcher.Launch(Shell("x")).status().message(), "gone");
  EXPECT_TRUE(launcher.Launch(Shell("x")).ok());
}

}  // namespace
}  // namespace muster
