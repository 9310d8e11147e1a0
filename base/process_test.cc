#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "base/fake_process.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

ExitStatus WaitFor(Process& process) {
  pollfd fd = {process.poll_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&fd, 1, 20'000), 1) << "process did not end";
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

TEST(ProcessTest, GivesExactlyTheMappedDescriptorsEnvironmentAndFolder) {
  int out[2], extra[2], leaked[2];
  ASSERT_EQ(pipe(out), 0);
  ASSERT_EQ(pipe(extra), 0);
  ASSERT_EQ(pipe(leaked), 0);  // without O_CLOEXEC, as a careless library would
  // Swapped on purpose: 3 and 4 are likely to be in use in this process.
  // No pipeline: while it starts one, the shell itself holds descriptors more.
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

// A killed operator that its parent had not reaped was taken for a live one.
TEST(ProcessTest, AZombieDoesNotRun) {
  auto process = Start(Shell("sleep 100"));
  const uint64_t start_time = process->start_time();
  EXPECT_EQ(ProcessStartTime(process->pid()).value(), start_time);
  ASSERT_TRUE(process->SignalGroup(SIGKILL).ok());
  pollfd fd = {process->poll_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&fd, 1, 20'000), 1);
  // Not reaped: its entry in /proc is still there, and is still its own.
  ASSERT_EQ(kill(process->pid(), 0), 0);
  EXPECT_EQ(ProcessStartTime(process->pid()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ProcessLauncher::Real().Adopt(process->pid(), start_time).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(WaitFor(*process).signal, 9);
}

TEST(ProcessTest, FindsDescendantsByTheirEnvironmentWhereverTheyWent) {
  int out[2];
  ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
  ProcessSpec spec = Shell("setsid sh -c 'echo started; kill -STOP $$' & wait");
  spec.env.push_back("MUSTER_TEST_MARK=17");
  spec.fds = {{out[1], 1}};
  auto process = Start(spec);
  close(out[1]);
  char started[8];
  ASSERT_EQ(read(out[0], started, sizeof(started)), 8);
  ASSERT_TRUE(process->Signal(SIGKILL).ok());
  EXPECT_EQ(WaitFor(*process).signal, SIGKILL);
  EXPECT_EQ(ProcessLauncher::Real().SignalMarked("MUSTER_TEST_MARK=1", SIGKILL), 0);
  EXPECT_EQ(ProcessLauncher::Real().SignalMarked("MUSTER_TEST_MARK=17", SIGKILL), 1);
  EXPECT_EQ(ReadAll(out[0]), "");  // ends only when the last writer has ended
  close(out[0]);
}

// For a moment of execve a process shows no environment.
TEST(ProcessTest, AProcessThatKeepsExecutingIsFoundEveryTime) {
  ProcessSpec spec = Shell("eval \"$AGAIN\"");
  spec.env.push_back("AGAIN=exec sh -c \"$AGAIN\"");
  spec.env.push_back("MUSTER_TEST_MARK=again");
  auto process = Start(spec);
  int missed = 0;
  for (int i = 0; i < 300; ++i) {
    missed += ProcessLauncher::Real().SignalMarked("MUSTER_TEST_MARK=again", 0) == 1 ? 0 : 1;
  }
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(ProcessLauncher::Real().SignalMarked("MUSTER_TEST_MARK=again", SIGKILL), 1);
  EXPECT_EQ(WaitFor(*process).signal, SIGKILL);
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
