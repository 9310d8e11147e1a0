#include "operator/core/failure/repeat.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/command_world.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNoTorch[] =
    "Traceback (most recent call last):\n"
    "  File \"train.py\", line 1, in <module>\n"
    "ModuleNotFoundError: No module named 'torch'\n";

std::string WhyFailed(const TestWorld& world) {
  const v1alpha1::Condition* failed = FindCondition(world.view.status, ConditionType::kFailed);
  return failed == nullptr ? "" : failed->message();
}

// Makes the next round Active, after the back-off if there is one.
void NextRound(CommandWorld& world) {
  if (world.memory.phase != RoundPhase::kPreparing) {
    world.Advance(absl::Minutes(2));
    world.Decide();
  }
  world.JoinAll();
}

void FailAndGoOn(CommandWorld& world, int index, int code, const std::string& log) {
  world.FailRank(index, code, log);
  world.Decide();
  NextRound(world);
}

TEST(RepeatTest, ThreeRoundsThatBreakAlikeEndTheJob) {
  CommandWorld world(2);
  world.MakeActive();
  FailAndGoOn(world, 0, 1, kNoTorch);
  FailAndGoOn(world, 0, 1, kNoTorch);
  EXPECT_EQ(world.view.status.failures().repeat().count(), 2);
  world.ChangeLeaders();  // the new leader goes on counting
  for (AgentView& agent : world.view.agents) agent.exits.clear();
  world.Decide();
  NextRound(world);
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
  world.FailRank(0, 1, kNoTorch);
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/IdenticalFailures");
  EXPECT_THAT(WhyFailed(world), HasSubstr("3 rounds in a row broke in the same way"));
  EXPECT_THAT(WhyFailed(world), HasSubstr("rank 0 of worker 0 ended with exit code 1 (Exited); it "
                                          "said: ModuleNotFoundError: No module named 'torch'"));
}

TEST(RepeatTest, AnotherExitOrLogIsAnotherFailure) {
  CommandWorld world(1);
  world.MakeActive();
  for (int i = 0; i < 3; ++i) {
    FailAndGoOn(world, 0, 1, kNoTorch);
    FailAndGoOn(world, 0, 2, kNoTorch);
    FailAndGoOn(world, 0, 1, "no space left on device");
  }
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
}

TEST(RepeatTest, NumbersTimesAndMadeUpNamesDoNotDiffer) {
  EXPECT_EQ(Fingerprint(1, 0, "12:03:04.123 [pid 7] step 40: out of memory at 0x7ffe12"),
            Fingerprint(1, 0, "23:59:59.999 [pid 12] step 7: out of memory at 0x7fffab\n\n"));
  EXPECT_EQ(Fingerprint(1, 0, "/tmp/tmp3k9x: gone"), Fingerprint(1, 0, "/tmp/tmp81qz: gone"));
  EXPECT_NE(Fingerprint(1, 0, "out of memory"), Fingerprint(1, 0, "out of disk"));
  EXPECT_NE(Fingerprint(1, 0, "x"), Fingerprint(2, 0, "x"));
  EXPECT_NE(Fingerprint(139, 11, "x"), Fingerprint(139, 0, "x"));
}

TEST(RepeatTest, OnlyTheLastLinesCount) {
  const std::string end = "\na\nb\nc\nd\ne";
  EXPECT_EQ(Fingerprint(1, 0, "began here" + end), Fingerprint(1, 0, "began there" + end));
  EXPECT_NE(Fingerprint(1, 0, end + "\nf"), Fingerprint(1, 0, end + "\ng"));
}

TEST(RepeatTest, AJobOnTwoNodesMustFailOnBoth) {
  CommandWorld world(2);
  world.MakeActive();
  world.Pod(1).node = "other-node";
  for (int i = 0; i < 4; ++i) FailAndGoOn(world, 0, 1, kNoTorch);
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "") << "the node may be to blame";
  world.FailRank(0, 1, kNoTorch);
  world.FailRank(1, 1, kNoTorch);
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/IdenticalFailures");
  EXPECT_THAT(world.view.status.failures().repeat().nodes(), ElementsAre("node", "other-node"));
}

TEST(RepeatTest, AStepInBetweenBeginsTheCountAnew) {
  CommandWorld world(1);
  world.view.spec.mutable_trainer()->mutable_train()->set_steps(100);
  world.MakeActive();
  for (int i = 0; i < 5; ++i) {
    FailAndGoOn(world, 0, 1, kNoTorch);
    if (i % 2 == 0) continue;
    world.view.progress.latest.emplace().mutable_version()->set_step(10 + i);
  }
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
}

TEST(RepeatTest, ACommandThatRanForLongBeginsTheCountAnew) {
  CommandWorld world(1);
  world.MakeActive();
  for (int i = 0; i < 5; ++i) {
    world.Advance(absl::Minutes(10));
    FailAndGoOn(world, 0, 1, "connection reset");
  }
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
}

TEST(RepeatTest, AKilledProgramIsNoRepeat) {
  CommandWorld world(1);
  world.MakeActive();
  for (int i = 0; i < 5; ++i) FailAndGoOn(world, 0, 137, "");
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
  EXPECT_FALSE(world.view.status.failures().has_repeat());
}

TEST(RepeatTest, AnIgnoreRuleOrALimitOfZeroSwitchesItOff) {
  for (const bool rule : {true, false}) {
    CommandWorld world(1);
    v1alpha1::FailurePolicySpec& policy = *world.view.spec.mutable_failure_policy();
    if (rule) {
      v1alpha1::FailureRule& ignore = *policy.add_rules();
      ignore.set_action("Ignore");
      ignore.mutable_exit_codes()->add_values(1);
    } else {
      policy.set_max_identical_failures(0);
    }
    world.MakeActive();
    for (int i = 0; i < 6; ++i) FailAndGoOn(world, 0, 1, kNoTorch);
    EXPECT_EQ(world.Condition(ConditionType::kFailed), "") << rule;
  }
}

// The report must not be counted as "worker 0 ended with exit code 0: the job is suspended".
TEST(RepeatTest, TheReportOfAStoppedWorkerIsNoFailure) {
  for (const int code : {0, 1}) {
    CommandWorld world(1);
    world.MakeActive();
    FailAndGoOn(world, 0, 1, kNoTorch);
    world.view.spec.set_suspend(true);
    EXPECT_EQ(OrderTexts(world.Decide()), "Stop:0");
    world.EndCommand(0);
    world.Agent(0).finished->succeeded = false;
    world.Agent(0).finished->exit_code = code;
    world.Agent(0).finished->message = "the job is suspended";
    world.Decide();
    world.view.pods.clear();
    world.Decide();
    world.view.spec.set_suspend(false);
    world.Decide();
    world.Decide();
    EXPECT_EQ(world.view.status.failures().count(), 1) << code;
    EXPECT_THAT(world.view.status.failures().latest().log(), HasSubstr("No module named"));
  }
}

TEST(RepeatTest, TooManyFailuresNameTheFirst) {
  CommandWorld world(1);
  world.view.spec.mutable_failure_policy()->set_max_failures(1);
  world.MakeActive();
  FailAndGoOn(world, 0, 1, kNoTorch);
  world.FailRank(0, 2, "connection reset by peer");
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/TooManyFailures");
  EXPECT_THAT(WhyFailed(world), HasSubstr("it said: ModuleNotFoundError: No module named 'torch'"));
  EXPECT_THAT(WhyFailed(world), Not(HasSubstr("reset by peer")));
}

}  // namespace
}  // namespace muster::control
