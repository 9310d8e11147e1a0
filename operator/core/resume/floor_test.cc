// Tests the floor and the last step as the policies keep them, with whole jobs on virtual time, and
// which reports the policies accept.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/resume/floor.h"
#include "operator/core/state/checked_status.h"
#include "operator/core/state/conditions.h"
#include "operator/core/testing/sim_world.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void RunFor(SimWorld& world, absl::Duration time) {
  const absl::Time end = world.now + time;
  while (world.now < end) world.RunOnce();
}

void RunToStep(SimWorld& world, int64_t step) {
  for (int i = 0; i < 20000 && world.committed < step; ++i) world.RunOnce();
}

std::string MessageOf(const SimWorld& world, ConditionType type) {
  const v1alpha1::Condition* condition = FindCondition(world.job.status, type);
  return condition == nullptr ? "" : condition->message();
}

void ExpectSucceeded(SimWorld& world) {
  world.RunUntilEnded(absl::Minutes(5));
  EXPECT_THAT(world.violations, IsEmpty());
  EXPECT_EQ(world.job.status.state(), "Succeeded")
      << world.job.status.DebugString().substr(0, 3000);
  EXPECT_EQ(world.committed, 60);
}

// Loses every agent of the job at once, at step 35 with step 30 saved.
void LoseEverything(SimWorld& world) {
  RunToStep(world, 35);
  ASSERT_EQ(world.job.status.checkpoint().step(), 30);
  world.KillEveryAgent();
}

std::string Floor30(const SimWorld& world) {
  return absl::StrCat("30@", world.job.status.checkpoint().history());
}

TEST(FloorScenarioTest, ALostDirectoryHoldsTheJobInsteadOfStartingItAtZero) {
  SimWorld world(21);
  LoseEverything(world);
  world.LoseCheckpoints();
  RunFor(world, absl::Minutes(10));
  EXPECT_EQ(world.ConditionReason(ConditionType::kRunning), "False/CheckpointLost");
  EXPECT_EQ(world.ConditionReason(ConditionType::kCheckpointed), "False/CheckpointLost");
  EXPECT_THAT(MessageOf(world, ConditionType::kRunning),
              HasSubstr(absl::StrCat("set spec.checkpoint.giveUp: \"", Floor30(world), "\"")));
  EXPECT_EQ(world.job.status.checkpoint().step(), 30);
  EXPECT_EQ(world.committed, 35) << "it trained";
  EXPECT_EQ(std::count(world.event_reasons.begin(), world.event_reasons.end(), "CheckpointLost"), 1)
      << "what waits is said once";
  EXPECT_THAT(world.violations, IsEmpty());
}

TEST(FloorScenarioTest, TheOwnersWordIsHeardAtOnceAndBeginsANewHistory) {
  SimWorld world(22);
  LoseEverything(world);
  world.LoseCheckpoints();
  RunFor(world, absl::Minutes(10));
  const std::string before = world.job.status.checkpoint().history();
  world.job.spec.mutable_checkpoint()->set_give_up(Floor30(world));
  const absl::Time said = world.now;
  while (world.job.status.state() != "Training" && world.now < said + absl::Minutes(5)) {
    world.RunOnce();
  }
  EXPECT_LT(world.now - said, absl::Seconds(5)) << "the back-off is for storage, not for people";
  EXPECT_NE(world.job.status.checkpoint().history(), before);
  EXPECT_FALSE(world.job.status.checkpoint().has_step());
  EXPECT_THAT(world.event_reasons, Contains("CheckpointGivenUp"));
  ExpectSucceeded(world);
}

TEST(FloorScenarioTest, ANewLeaderDecidesAsTheOneThatWroteThatTheFloorIsGivenUp) {
  SimWorld world(23);
  LoseEverything(world);
  world.LoseCheckpoints();
  RunFor(world, absl::Minutes(1));
  const std::string before = world.job.status.checkpoint().history();
  world.job.spec.mutable_checkpoint()->set_give_up(Floor30(world));
  for (int i = 0; i < 20000 && world.job.status.checkpoint().history() == before; ++i) {
    world.RunOnce();
  }
  world.ChangeLeader(/*zombie=*/true);
  ExpectSucceeded(world);
  EXPECT_EQ(std::count(world.event_reasons.begin(), world.event_reasons.end(), "CheckpointLost"),
            1);
}

TEST(FloorScenarioTest, ADirectoryThatCannotBeListedIsWaitedFor) {
  SimWorld world(24);
  LoseEverything(world);
  world.SetListingError("/checkpoints: cannot list: Permission denied");
  RunFor(world, absl::Minutes(5));
  EXPECT_EQ(world.ConditionReason(ConditionType::kRunning), "False/CheckpointUnlistable");
  EXPECT_EQ(world.ConditionReason(ConditionType::kCheckpointed), "False/CheckpointUnlistable");
  EXPECT_THAT(MessageOf(world, ConditionType::kRunning), HasSubstr("Permission denied"));
  EXPECT_EQ(world.committed, 35);
  world.SetListingError("");
  ExpectSucceeded(world);
  EXPECT_EQ(world.redone, 5);
}

TEST(FloorScenarioTest, ADamagedCheckpointIsLeftForAnOlderOneWithAWarning) {
  SimWorld world(25);
  LoseEverything(world);
  const std::string history = world.job.status.checkpoint().history();
  world.RuinNewestCheckpoint();
  ExpectSucceeded(world);
  EXPECT_THAT(world.event_reasons, Contains("CheckpointGivenUp"));
  EXPECT_EQ(world.redone, 15);
  EXPECT_EQ(world.job.status.checkpoint().history(), history);
  EXPECT_EQ(world.job.status.checkpoint().step(), 60);
}

// The branch's steps are being trained again on another one, and its files were set aside.
TEST(FloorScenarioTest, ALateReportOfABranchThatWasGivenUpDoesNotRaiseItAtANewLeader) {
  SimWorld world(28);
  LoseEverything(world);
  const auto late = world.written();
  ASSERT_EQ(late.version().step(), 30);
  world.RuinNewestCheckpoint();
  for (int i = 0; i < 20000 && world.committed != 25; ++i) world.RunOnce();
  ASSERT_EQ(world.job.status.checkpoint().step(), 20);
  const int64_t attempt = world.job.status.checkpoint().attempt();
  EXPECT_GT(attempt, late.version().attempt());
  world.ChangeLeader(/*zombie=*/false);
  world.Hear(late);
  for (int i = 0; i < 20000 && world.committed < 29; ++i) {
    world.RunOnce();
    ASSERT_EQ(world.job.status.checkpoint().step(), 20);
  }
  RunToStep(world, 35);
  EXPECT_EQ(world.job.status.checkpoint().step(), 30) << "of the branch that goes on";
  EXPECT_GE(world.job.status.checkpoint().attempt(), attempt);
  ExpectSucceeded(world);
}

TEST(FloorScenarioTest, WithHoldTheOwnerIsAskedFirst) {
  SimWorld world(26);
  world.job.spec.mutable_checkpoint()->set_on_damage("Hold");
  LoseEverything(world);
  world.RuinNewestCheckpoint();
  RunFor(world, absl::Minutes(5));
  EXPECT_EQ(world.ConditionReason(ConditionType::kRunning), "False/CheckpointLost");
  EXPECT_EQ(world.committed, 30) << "beyond the checkpoint that could not be loaded";
  world.job.spec.mutable_checkpoint()->set_give_up(Floor30(world));
  ExpectSucceeded(world);
  EXPECT_EQ(world.redone, 15);
}

TEST(FloorScenarioTest, AJobThatNeverSavedStartsAgainWithoutAQuestion) {
  SimWorld world(27);
  world.SetDiskFull(true);
  RunToStep(world, 35);
  world.KillEveryAgent();
  RunFor(world, absl::Seconds(5));
  world.SetDiskFull(false);
  ExpectSucceeded(world);
  EXPECT_THAT(world.event_reasons, Not(Contains("CheckpointLost")));
}

TEST(LastStepTest, AJobWhoseLastStepIsNotSavedHasNotSucceededAndDoesWhenItIs) {
  SimWorld world(31);
  RunToStep(world, 55);
  world.SetDiskFull(true);
  RunFor(world, absl::Seconds(30));
  EXPECT_EQ(world.committed, 60);
  EXPECT_EQ(world.ConditionReason(ConditionType::kRunning), "False/LastStepNotSaved");
  EXPECT_FALSE(IsFinished(world.job.status));
  world.SetDiskFull(false);
  ExpectSucceeded(world);
  EXPECT_EQ(world.redone, 0);
  EXPECT_EQ(world.job.status.checkpoint().step(), 60);
}

TEST(LastStepTest, ItFailsByPolicyWhenNoTrySucceeds) {
  SimWorld world(32);
  world.job.spec.mutable_failure_policy()->set_max_failures(3);
  world.SetDiskFull(true);
  world.RunUntilEnded(absl::Minutes(10));
  EXPECT_EQ(world.ConditionReason(ConditionType::kFailed), "True/LastStepNotSaved");
  EXPECT_EQ(world.rounds_opened, 4) << "the first and three more tries";
  EXPECT_EQ(std::count(world.event_reasons.begin(), world.event_reasons.end(), "TrainingFinished"),
            0);
  EXPECT_THAT(world.violations, IsEmpty());
}

TEST(LastStepTest, AJobWithoutCheckpointsSucceedsWithoutOne) {
  SimWorld world(33);
  world.job.spec.clear_checkpoint();
  world.SetDiskFull(true);
  ExpectSucceeded(world);
  EXPECT_EQ(world.rounds_opened, 1);
  EXPECT_FALSE(world.job.status.has_checkpoint());
}

class FloorReportTest : public ::testing::Test {
 protected:
  FloorReportTest() {
    world_.view.spec.mutable_checkpoint()->set_uri("/ck");
    world_.MakeActive();
    history_ = world_.view.status.checkpoint().history();
  }
  void Report(int64_t step, int64_t attempt, const std::string& history) {
    v1alpha1::CheckpointReport report;
    report.set_phase(v1alpha1::CheckpointReport::WRITTEN);
    report.set_directory(absl::StrCat("step-", step));
    report.mutable_version()->set_step(step);
    report.mutable_version()->set_attempt(attempt);
    report.set_history(history);
    world_.view.checkpoint.written = report;
    world_.Decide();
  }
  int64_t floor() const { return world_.view.status.checkpoint().step(); }

  TestWorld world_;
  std::string history_;
};

TEST_F(FloorReportTest, AFreshStartRecordsItsHistoryBeforeAnythingIsSaved) {
  EXPECT_EQ(history_, NewHistory("job-uid", {1, 1}));
  EXPECT_EQ(history_.size(), 16u);
  EXPECT_FALSE(world_.view.status.checkpoint().has_step());
}

TEST_F(FloorReportTest, SavesOfTheRunRaiseIt) {
  Report(20, 1, history_);
  EXPECT_EQ(floor(), 20);
  Report(40, 1, history_);
  EXPECT_EQ(floor(), 40);
  Report(20, 1, history_);
  EXPECT_EQ(floor(), 40) << "an old report, heard again";
}

TEST_F(FloorReportTest, SavesOfAnotherHistoryOrOfABranchThatWasGivenUpDoNot) {
  Report(20, 1, history_);
  Report(90, 9, "00000000000000bb");
  EXPECT_EQ(floor(), 20);
  world_.view.status.mutable_checkpoint()->set_attempt(5);
  Report(90, 4, history_);
  EXPECT_EQ(floor(), 20);
  Report(30, 5, history_);
  EXPECT_EQ(floor(), 30);
}

TEST_F(FloorReportTest, ANewCheckpointUnderTheNameOfADamagedOneIsGood) {
  world_.memory.failure.bad_checkpoints = {"step-40"};
  Report(20, 1, history_);
  EXPECT_EQ(world_.memory.failure.bad_checkpoints.size(), 1u);
  Report(40, 1, history_);
  EXPECT_TRUE(world_.memory.failure.bad_checkpoints.empty());
}

TEST_F(FloorReportTest, AServerThatDropsItIsNotReliedOn) {
  Report(20, 1, history_);
  v1alpha1::TrainingJobStatus stored = world_.view.status;
  EXPECT_EQ(DescribeMissingFields(world_.view.status, stored), "");
  stored.mutable_checkpoint()->clear_history();
  EXPECT_THAT(DescribeMissingFields(world_.view.status, stored), HasSubstr("status.checkpoint"));
  stored = world_.view.status;
  stored.mutable_checkpoint()->clear_attempt();
  EXPECT_THAT(DescribeMissingFields(world_.view.status, stored), HasSubstr("status.checkpoint"));
}

TEST_F(FloorReportTest, ItsAttemptIsWrittenWithIt) {
  EXPECT_EQ(world_.view.status.checkpoint().attempt(), 1) << "of the fresh start";
  Report(20, 3, history_);
  EXPECT_EQ(world_.view.status.checkpoint().attempt(), 3);
  Report(40, 2, history_);
  EXPECT_EQ(floor(), 20) << "of an older branch";
  EXPECT_EQ(world_.view.status.checkpoint().attempt(), 3);
}

TEST_F(FloorReportTest, AnAttemptIsNotGivenAgainAlthoughNobodyHoldsAnythingOfIt) {
  Report(20, 9, history_);
  world_.view.agents[0].session = 2;
  world_.view.agents[0].ready.reset();
  world_.view.agents[0].joined.reset();
  world_.view.agents[0].active = {};
  world_.memory = RoundMemory{};
  world_.view.leader_term = 2;
  world_.view.spec.mutable_checkpoint()->set_give_up(FloorText({20, history_}));
  world_.Advance(absl::Minutes(1));
  world_.Decide();
  for (AgentView& agent : world_.view.agents) {
    agent.ready = ReadyReport{world_.memory.id, std::vector<v1alpha1::RankReady>(1)};
  }
  world_.Decide();
  ASSERT_NE(world_.memory.go, nullptr);
  EXPECT_EQ(world_.memory.go->resume().source(), v1alpha1::ResumePoint::FRESH);
  EXPECT_GT(world_.memory.go->resume().next_attempt(), 9);
  EXPECT_EQ(world_.view.status.checkpoint().attempt(), world_.memory.go->resume().next_attempt());
}

}  // namespace
}  // namespace muster::control
