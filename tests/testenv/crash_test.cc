// Tests `tools/testenv` itself: nothing that it started is left behind, whenever and however it
// ends.

#include <signal.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/process/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testenv/second_control_plane.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Runs `up` without the controllers, which these tests do not need.
class CrashTest : public SecondControlPlaneTest {
 protected:
  CrashTest() : SecondControlPlaneTest("crash-test", {"--no-controller-manager"}) {}
};

TEST_F(CrashTest, DownLeavesNothing) {
  const CommandResult up = Up();
  ASSERT_TRUE(up.ok()) << up.err;
  EXPECT_THAT(Tool("status").out, HasSubstr(absl::StrCat("'", name_, "'")));
  EXPECT_EQ(Tool("status").exit.code, 0);
  const CommandResult down = Tool("down");
  EXPECT_TRUE(down.ok()) << down.err;
  EXPECT_THAT(LeftOvers(), IsEmpty());
  EXPECT_EQ(Tool("status").exit.code, 1);
  EXPECT_TRUE(Tool("down").ok()) << "down of what is down";
}

TEST_F(CrashTest, UpKilledHalfWayIsCleanedByDown) {
  const std::vector<std::function<bool()>> moments = {
      [&] { return std::filesystem::exists(folder_ + "/options.json"); },
      [&] { return std::filesystem::exists(netns_); },
      [&] { return std::filesystem::exists(folder_ + "/pki/sa.key"); },
      [&] { return LogsExist("etcd"); },
      [&] { return LogsExist("kube-apiserver"); },
      [&] { return std::filesystem::exists(folder_ + "/etcd/member"); },
  };
  for (size_t i = 0; i < moments.size(); ++i) {
    const auto up = BeginUp();
    ASSERT_NE(up, nullptr);
    ASSERT_TRUE(WaitFor(moments[i])) << i;
    ASSERT_TRUE(up->Signal(SIGKILL).ok()) << i;
    EXPECT_EQ(EndOf(*up).signal, SIGKILL) << i;
    const CommandResult down = Tool("down");
    EXPECT_TRUE(down.ok()) << i << ": " << down.err;
    EXPECT_THAT(LeftOvers(), IsEmpty()) << i;
  }
}

TEST_F(CrashTest, UpAfterAKilledUpStartsAfresh) {
  const auto killed = BeginUp();
  ASSERT_NE(killed, nullptr);
  ASSERT_TRUE(WaitFor([&] { return LogsExist("kube-apiserver"); }));
  ASSERT_TRUE(killed->Signal(SIGKILL).ok());
  EndOf(*killed);
  EXPECT_EQ(Tool("status").exit.code, 1);
  const CommandResult up = Up();
  ASSERT_TRUE(up.ok()) << up.err;
  const CommandResult ready = Tool("exec", {"--", "kubectl", "get", "--raw=/readyz"});
  EXPECT_EQ(ready.out, "ok") << ready.err;
}

TEST_F(CrashTest, UpThatIsInterruptedCleansUpItself) {
  const auto up = BeginUp();
  ASSERT_NE(up, nullptr);
  ASSERT_TRUE(WaitFor([&] { return LogsExist("kube-apiserver"); }));
  ASSERT_TRUE(up->Signal(SIGTERM).ok());
  EXPECT_EQ(EndOf(*up).code, 1);
  EXPECT_THAT(LeftOvers(), IsEmpty());
}

TEST_F(CrashTest, TwoUpsAtOnceStartOne) {
  const auto first = BeginUp();
  const auto second = BeginUp();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(EndOf(*first).code, 0);
  EXPECT_EQ(EndOf(*second).code, 0);
  // These are etcd, kube-apiserver, the folder and the namespace.
  EXPECT_EQ(LeftOvers().size(), 4u);
}

TEST_F(CrashTest, ADeadComponentMeansNotUp) {
  ASSERT_TRUE(Up().ok());
  const std::string mark = absl::StrCat("MUSTER_TESTENV_PROCESS=", folder_, ":etcd");
  EXPECT_EQ(ProcessLauncher::Real().SignalMarked(mark, SIGKILL), 1);
  EXPECT_EQ(Tool("status").exit.code, 1);
  const CommandResult up = Up();
  ASSERT_TRUE(up.ok()) << up.err;
  EXPECT_EQ(Tool("status").exit.code, 0);
}

TEST_F(CrashTest, WhatACommandLeavesRunningEndsWithIt) {
  const CommandResult with = Tool(
      "with", {"--no-controller-manager", "--", "sh", "-c", "setsid --fork sleep 1000; exit 3"});
  EXPECT_EQ(with.exit.code, 3) << with.err;
  EXPECT_THAT(LeftOvers(), IsEmpty());
}

TEST_F(CrashTest, TheControlPlaneOfAKilledTestIsAbandoned) {
  const auto with = Begin("with", {"--", "sleep", "1000"});
  ASSERT_NE(with, nullptr);
  ASSERT_TRUE(WaitFor([&] { return std::filesystem::exists(folder_ + "/ready"); }));
  const auto down_abandoned = [&] {
    return TestCluster::Run({tool_, "down", "--name=crash-nobody", "--abandoned"}, "", kDeadline);
  };
  ASSERT_TRUE(down_abandoned()->ok());
  EXPECT_EQ(Tool("status").exit.code, 0) << "it is in use";
  ASSERT_TRUE(with->Signal(SIGKILL).ok());
  EndOf(*with);
  ASSERT_TRUE(down_abandoned()->ok());
  EXPECT_THAT(LeftOvers(), IsEmpty());
}

TEST_F(CrashTest, OnlyAnExplicitDownEndsAControlPlaneInUse) {
  const std::string begun = absl::StrCat(testing::TempDir(), "/begun");
  const auto with = Begin("with", {"--", "sh", "-c", "touch $0; exec sleep 1000", begun});
  ASSERT_NE(with, nullptr);
  ASSERT_TRUE(WaitFor([&] { return std::filesystem::exists(begun); }));
  ASSERT_TRUE(Tool("down", {"--abandoned"}).ok());
  EXPECT_EQ(Tool("status").exit.code, 0);
  ASSERT_TRUE(Tool("down").ok());
  EXPECT_EQ(Tool("status").exit.code, 1);
  EndOf(*with);
}

TEST_F(CrashTest, AServerThatDoesNotStartIsQuoted) {
  const CommandResult up = Tool("up", {"--flag=kube-apiserver:--no-such-flag"});
  EXPECT_EQ(up.exit.code, 1);
  EXPECT_THAT(up.err, HasSubstr("kube-apiserver ended before the API server was ready"));
  EXPECT_THAT(up.err, HasSubstr("unknown flag: --no-such-flag"));
  EXPECT_THAT(LeftOvers(), IsEmpty());
}

}  // namespace
}  // namespace muster::tests
