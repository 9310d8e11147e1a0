#ifndef MUSTER_TESTS_TESTENV_SECOND_CONTROL_PLANE_H_
#define MUSTER_TESTS_TESTENV_SECOND_CONTROL_PLANE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "base/process/process.h"
#include "gtest/gtest.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

// Fixture of tests of `tools/testenv` itself: a second control plane beside the one that the test
// runs in, driven by the command line alone. It is down when a test begins and ends.
class SecondControlPlaneTest : public ::testing::Test {
 protected:
  // A command waits, and a test waits for something, at most this long.
  static constexpr absl::Duration kDeadline = absl::Minutes(2);

  // The control plane's name begins with `name`. It is the same at every attempt of a target in a
  // checkout, so that an attempt removes what a killed one left, but differs between runs that
  // Bazel makes side by side and between checkouts, which share a machine's control planes.
  SecondControlPlaneTest(const std::string& name, std::vector<std::string> flags_of_up);

  void SetUp() override;
  void TearDown() override;

  // Runs `tools/testenv COMMAND --name=… MORE…` to its end.
  CommandResult Tool(const std::string& command, const std::vector<std::string>& more = {}) const;
  CommandResult Up() const { return Tool("up", flags_); }

  // Starts a command that takes the flags of `up`.
  std::unique_ptr<Process> Begin(const std::string& command,
                                 const std::vector<std::string>& more) const;
  std::unique_ptr<Process> BeginUp() const { return Begin("up", {}); }

  // Returns false if it is not done within kDeadline.
  static bool WaitFor(absl::FunctionRef<bool()> done);
  static ExitStatus EndOf(Process& process);

  bool LogsExist(const std::string& component) const;

  // Everything left of the control plane: its processes and those in its cgroups, its folder, its
  // network namespace, its cgroups and mounts.
  std::vector<std::string> LeftOvers() const;

  const std::string name_;
  std::string tool_;
  std::string folder_;
  std::string netns_;

 private:
  void AddProcesses(std::vector<std::string>& left) const;

  const std::vector<std::string> flags_;
  // The parent of its nodes' cgroups has this name in each hierarchy.
  std::string cgroup_;
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_TESTENV_SECOND_CONTROL_PLANE_H_
