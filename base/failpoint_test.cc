#include "base/failpoint.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(ParseFailpointsTest, ReadsEveryPart) {
  const auto points =
      ParseFailpoints("trainer.after_vote=kill@3?RANK=1&LIFE=0; a.b=sleep:250;c=error;d=stop@2");
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 4u);
  EXPECT_EQ((*points)[0].name, "trainer.after_vote");
  EXPECT_EQ((*points)[0].action, Failpoint::Action::kKill);
  EXPECT_EQ((*points)[0].hit, 3);
  EXPECT_EQ((*points)[0].conditions, (std::vector<std::string>{"RANK=1", "LIFE=0"}));
  EXPECT_EQ((*points)[1].sleep, absl::Milliseconds(250));
  EXPECT_EQ((*points)[2].action, Failpoint::Action::kError);
  EXPECT_EQ((*points)[3].action, Failpoint::Action::kStop);
}

TEST(ParseFailpointsTest, NamesWhatIsWrong) {
  EXPECT_EQ(ParseFailpoints("a=explode").status().message(),
            "failpoint \"a=explode\": the action must be kill, stop, sleep:MILLISECONDS, error or "
            "list:PATH");
  EXPECT_EQ(ParseFailpoints("a=kill@0").status().message(),
            "failpoint \"a=kill@0\": the hit must be a number from 1");
  EXPECT_EQ(ParseFailpoints("kill").status().message(),
            "failpoint \"kill\": wants NAME=ACTION[@N][?VAR=VALUE]");
  EXPECT_EQ(ParseFailpoints("a=kill?RANK").status().message(),
            "failpoint \"a=kill?RANK\": a condition wants VAR=VALUE");
  EXPECT_FALSE(ParseFailpoints("a=sleep:x").ok());
}

// Each case runs in a process of its own, because the environment is read once.
TEST(FailpointDeathTest, KillsAtTheNthHitOnly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("MUSTER_FAILPOINTS", "p=kill@3", 1);
        MUSTER_FAILPOINT("p");
        MUSTER_FAILPOINT("other");
        MUSTER_FAILPOINT("p");
        MUSTER_FAILPOINT("p");
        _exit(0);
      },
      testing::KilledBySignal(SIGKILL), "");
}

TEST(FailpointDeathTest, ErrorIsAStatusOnceAndConditionsFilter) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("MUSTER_FAILPOINTS", "p=error@2?RANK=1;p=kill?RANK=2", 1);
        setenv("RANK", "1", 1);
        const bool first = MUSTER_FAILPOINT_STATUS("p").ok();
        const bool second = MUSTER_FAILPOINT_STATUS("p").ok();
        const bool third = MUSTER_FAILPOINT_STATUS("p").ok();
        _exit(first && !second && third ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(FailpointDeathTest, EveryPlaceIsListedOnceWithItsKind) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string path = testing::TempDir() + "/places";
  EXPECT_EXIT(
      {
        setenv("MUSTER_FAILPOINTS", ("*=list:" + path).c_str(), 1);
        MUSTER_FAILPOINT("a.b");
        MUSTER_FAILPOINT_OF("a.sends", "hello");
        MUSTER_FAILPOINT("a.b");
        std::ifstream file(path);
        std::stringstream text;
        text << file.rdbuf();
        _exit(text.str() == "a.b\na.sends.hello\n" ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(FailpointDeathTest, AMalformedListEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("MUSTER_FAILPOINTS", "p=explode", 1);
        MUSTER_FAILPOINT("p");
        _exit(0);
      },
      testing::ExitedWithCode(2), "the action must be");
}

}  // namespace
}  // namespace muster
