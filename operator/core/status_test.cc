// Tests the policies that only report: progress, checkpoint, admission, deadline.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/ending/lifetime.h"
#include "operator/core/saves/checkpoint.h"
#include "operator/core/state/progress.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void SetStep(TestWorld& world, int64_t step, int64_t attempt = 0) {
  world.view.progress.latest.emplace();
  world.view.progress.latest->mutable_version()->set_attempt(attempt);
  world.view.progress.latest->mutable_version()->set_step(step);
  world.view.progress.latest->set_loss(2.5);
}

TEST(ProgressTest, IsWrittenOnceAnInterval) {
  TestWorld world(1);
  world.view.spec.mutable_trainer()->mutable_train()->set_global_batch(4);
  world.view.spec.mutable_trainer()->mutable_train()->set_sequence(10);
  world.MakeActive();
  SetStep(world, 10);
  world.view.progress.tokens_per_second = 36;
  Plan plan = world.Decide();
  EXPECT_EQ(plan.status.progress().step(), 10);
  EXPECT_EQ(plan.status.progress().steps(), 100);
  EXPECT_EQ(plan.status.progress().eta(), "1m40s");
  SetStep(world, 20);
  world.Advance(absl::Seconds(4));
  plan = world.Decide();
  EXPECT_FALSE(plan.write_status);
  EXPECT_LE(*plan.requeue_after, absl::Seconds(6));
  world.Advance(absl::Seconds(6));
  EXPECT_EQ(world.Decide().status.progress().step(), 20);
}

TEST(ProgressTest, SpikesAreCountedAndOneWarningStandsForAllSinceTheLast) {
  TestWorld world(1);
  world.MakeActive();
  SetStep(world, 10);
  world.view.progress.latest->set_spikes_total(1);
  world.view.progress.spike = SpikeView{9, "loss 9.1, median 3.2"};
  Plan plan = world.Decide();
  EXPECT_EQ(plan.status.progress().spikes(), 1);
  ASSERT_THAT(plan.events, SizeIs(1));
  EXPECT_EQ(plan.events[0].type, Event::Type::kWarning);
  EXPECT_EQ(plan.events[0].reason, "Spike");
  EXPECT_EQ(plan.events[0].message,
            "step 9 is a spike: loss 9.1, median 3.2; the run has had 1 so far");
  SetStep(world, 30);
  world.view.progress.latest->set_spikes_total(4);
  world.view.progress.spike = SpikeView{28, "loss 8, median 3.1"};
  world.Advance(absl::Seconds(4));
  EXPECT_THAT(world.Decide().events, IsEmpty()) << "progress is not written yet";
  world.Advance(absl::Seconds(6));
  plan = world.Decide();
  ASSERT_THAT(plan.events, SizeIs(1));
  EXPECT_EQ(plan.events[0].message,
            "step 28 is a spike: loss 8, median 3.1; the run has had 4 so far");
  // A new leader has heard of no spike, and the same number is no news.
  world.view.progress.spike.reset();
  SetStep(world, 50);
  world.view.progress.latest->set_spikes_total(4);
  world.Advance(absl::Seconds(10));
  plan = world.Decide();
  EXPECT_EQ(plan.status.progress().step(), 50);
  EXPECT_THAT(plan.events, IsEmpty());
}

TEST(ProgressTest, ARunWithoutSpikesSaysNothingOfThem) {
  TestWorld world(1);
  world.MakeActive();
  SetStep(world, 10);
  EXPECT_FALSE(world.Decide().status.progress().has_spikes());
}

TEST(ProgressTest, TheTimeLeftOfAJobThatWentBackCountsFromTheStepItWentBackTo) {
  TestWorld world(1);
  world.MakeActive();
  world.view.spec.mutable_trainer()->mutable_train()->set_steps(1000);
  world.view.spec.mutable_trainer()->mutable_train()->set_global_batch(1);
  world.view.spec.mutable_trainer()->mutable_train()->set_sequence(1);
  world.view.progress.tokens_per_second = 1;
  world.view.status.mutable_progress()->set_step(900);
  SetStep(world, 600);
  EXPECT_EQ(world.Decide().status.progress().eta(), "6m40s");
}

TEST(ProgressTest, ACommandStatesItsNumberOfStepsItself) {
  TestWorld world(1);
  world.view.spec.clear_trainer();
  world.MakeActive();
  SetStep(world, 10);
  world.view.progress.tokens_per_second = 36;
  Plan plan = world.Decide();
  EXPECT_EQ(plan.status.progress().step(), 10);
  EXPECT_FALSE(plan.status.progress().has_steps());
  EXPECT_FALSE(plan.status.progress().has_eta());
  EXPECT_EQ(plan.status.progress().tokens_per_second(), 36);
  world.Advance(absl::Minutes(1));
  SetStep(world, 20);
  world.view.progress.latest->set_total_steps(100);
  world.view.progress.steps_per_second = 2;
  plan = world.Decide();
  EXPECT_EQ(plan.status.progress().steps(), 100);
  EXPECT_EQ(plan.status.progress().eta(), "40s");
}

TEST(ProgressTest, AWallClockSetBackDoesNotSilenceIt) {
  TestWorld world(1);
  world.MakeActive();
  SetStep(world, 10);
  world.Decide();
  world.Advance(absl::Seconds(1));
  world.view.wall -= absl::Hours(2);
  SetStep(world, 11);
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.status.progress().step(), 11);
  EXPECT_THAT(plan.orders, IsEmpty()) << "and no deadline fires";
}

// An agent that attaches to a new leader first reports that its work is done, and then the reports
// that it could not send meanwhile.
TEST(ProgressTest, AnEndReportedBeforeTheLastStepStillRecordsThatStepAndItsCheckpoint) {
  TestWorld world(1);
  world.view.spec.mutable_checkpoint()->set_uri("/ck");
  world.MakeActive();
  SetStep(world, 19);
  world.Decide();
  FinishedReport& finished = world.view.agents[0].finished.emplace();
  finished.round = world.memory.id;
  finished.succeeded = true;
  finished.version.set_step(100);
  finished.durable_step = 100;
  const Plan plan = world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
  EXPECT_EQ(plan.status.progress().step(), 100);
  EXPECT_EQ(plan.status.checkpoint().step(), 100);
  EXPECT_EQ(plan.status.checkpoint().uri(), "/ck/step-000000100");
}

void SetCheckpoint(TestWorld& world, int64_t step, int64_t attempt) {
  world.view.checkpoint.written.emplace();
  world.view.checkpoint.written->set_directory("step");
  world.view.checkpoint.written->mutable_version()->set_step(step);
  world.view.checkpoint.written->mutable_version()->set_attempt(attempt);
}

TEST(ProgressTest, TheWrittenStepIsNeverBelowTheCheckpoints) {
  TestWorld world(1);
  world.view.spec.mutable_checkpoint()->set_uri("/ck");
  world.MakeActive();
  const int64_t attempt = world.view.status.checkpoint().attempt();
  SetStep(world, 20, attempt);
  world.Decide();
  world.Advance(absl::Seconds(1));
  SetStep(world, 24, attempt);
  SetCheckpoint(world, 40, attempt);
  Plan plan = world.Decide();
  EXPECT_EQ(plan.status.checkpoint().step(), 40);
  EXPECT_EQ(plan.status.progress().step(), 40) << "before the interval has passed";
  world.Advance(absl::Minutes(1));
  EXPECT_FALSE(world.Decide().write_status) << "the last report, of step 24, is older";
  SetStep(world, 41, attempt);
  EXPECT_EQ(world.Decide().status.progress().step(), 41);
}

TEST(ProgressTest, TheWrittenStepIsNotBelowACheckpointThatReportsHaveReached) {
  TestWorld world(1);
  world.view.spec.mutable_checkpoint()->set_uri("/ck");
  world.MakeActive();
  SetStep(world, 20);
  world.Decide();
  world.Advance(absl::Seconds(1));
  SetStep(world, 40);
  SetCheckpoint(world, 40, 0);
  EXPECT_EQ(world.Decide().status.progress().step(), 40) << "saved is what was reported last";
  world.Advance(absl::Seconds(1));
  SetStep(world, 70);
  SetCheckpoint(world, 60, 0);
  EXPECT_EQ(world.Decide().status.progress().step(), 70) << "saved is older than the last report";
  world.Advance(absl::Seconds(1));
  SetStep(world, 80);
  EXPECT_EQ(world.Decide().status.progress().step(), 70) << "the interval is kept else";
}

TEST(ProgressTest, ACheckpointAloneDoesNotTakeTheWrittenStepBack) {
  TestWorld world(1);
  world.view.spec.mutable_checkpoint()->set_uri("/ck");
  world.MakeActive();
  SetStep(world, 80);
  world.Decide();
  world.view.progress.latest.reset();  // another leader, without any report of a step
  SetCheckpoint(world, 60, 0);
  world.Advance(absl::Minutes(1));
  EXPECT_EQ(world.Decide().status.progress().step(), 80);
}

TEST(ProgressTest, ALateCheckpointOfAFailedJobRecordsItsStep) {
  TestWorld world(1);
  world.view.spec.mutable_checkpoint()->set_uri("/ck");
  world.view.spec.set_active_deadline("30s");
  world.MakeActive();
  SetStep(world, 24);
  world.Advance(absl::Seconds(30));
  EXPECT_EQ(world.Decide().status.progress().step(), 24);
  ASSERT_EQ(world.Condition(ConditionType::kFailed), "True/DeadlineExceeded");
  SetCheckpoint(world, 30, 0);
  EXPECT_EQ(world.Decide().status.progress().step(), 30);
}

TEST(ProgressTest, AnUnusableCheckpointIsNoProgress) {
  TestWorld world(1);
  world.view.spec.mutable_checkpoint()->set_uri("/ck");
  world.MakeActive();
  SetCheckpoint(world, 40, 0);
  EXPECT_EQ(world.Decide().status.progress().step(), 40);
  SetStep(world, 11);
  world.view.progress.latest->mutable_version()->set_attempt(1);
  world.Advance(absl::Minutes(1));
  EXPECT_EQ(world.Decide().status.progress().step(), 11) << "steps are redone from an older one";
}

TEST(CheckpointTest, IsShownAndEmitsOneEvent) {
  TestWorld world(1);
  world.view.spec.mutable_checkpoint()->set_uri("/ck");
  world.MakeActive();
  EXPECT_EQ(world.Condition(ConditionType::kCheckpointed), "False/NoCheckpointYet");
  world.view.checkpoint.written.emplace();
  world.view.checkpoint.written->set_directory("step-000000010");
  world.view.checkpoint.written->mutable_version()->set_step(10);
  world.view.checkpoint.written->mutable_version()->set_attempt(1);
  Plan plan = world.Decide();
  EXPECT_EQ(EventReasons(plan), "CheckpointWritten");
  EXPECT_EQ(plan.status.checkpoint().uri(), "/ck/step-000000010");
  EXPECT_EQ(plan.status.checkpoint().step(), 10);
  EXPECT_EQ(world.Condition(ConditionType::kCheckpointed), "True/CheckpointWritten");
  world.Advance(absl::Seconds(5));
  EXPECT_FALSE(world.Decide().write_status);
}

// Regression: the built-in trainer reports spec.checkpoint.uri, which the status then had.
TEST(CheckpointTest, TheUriIsTheDirectoryThatHoldsTheCheckpoint) {
  TestWorld world(1);
  world.view.spec.mutable_checkpoint()->set_uri("/ck");
  world.MakeActive();
  v1alpha1::CheckpointReport& written = world.view.checkpoint.written.emplace();
  written.mutable_version()->set_attempt(1);
  written.mutable_version()->set_step(10);
  written.set_directory("step-000000010");
  written.set_uri("/ck");
  EXPECT_EQ(world.Decide().status.checkpoint().uri(), "/ck/step-000000010");
  written.mutable_version()->set_step(20);
  written.set_directory("/elsewhere/saved");
  written.set_uri("/elsewhere/saved");
  EXPECT_EQ(world.Decide().status.checkpoint().uri(), "/elsewhere/saved") << "of a command";
}

TEST(CheckpointTest, AFailedSaveIsShownAndTrainingGoesOn) {
  TestWorld world(1);
  world.view.spec.mutable_checkpoint()->set_uri("/ck");
  world.MakeActive();
  world.view.checkpoint.failed.emplace();
  world.view.checkpoint.failed->set_error("no space left on device");
  EXPECT_EQ(EventReasons(world.Decide()), "CheckpointFailed");
  EXPECT_EQ(EventReasons(world.Decide()), "");
  EXPECT_EQ(world.Condition(ConditionType::kCheckpointed), "False/CheckpointFailed");
  EXPECT_EQ(world.view.status.state(), "Training");
}

TEST(AdmitTest, EveryErrorIsInTheConditionAndNothingStarts) {
  TestWorld world(1);
  world.view.spec_errors = {"spec.workers.count: 9 is more than max 4", "spec.trainer: missing"};
  const Plan plan = world.Decide();
  EXPECT_THAT(plan.status.conditions(0).message(),
              HasSubstr("9 is more than max 4; spec.trainer: missing"));
  EXPECT_EQ(plan.status.incarnations_size(), 0);
  EXPECT_EQ(EventReasons(plan), "InvalidSpec");
  EXPECT_EQ(EventReasons(world.Decide()), "");
}

TEST(AdmitTest, TheFinalizerIsAddedOnceAfterThePods) {
  TestWorld world(1);
  world.view.job.finalizers.clear();
  Plan plan = world.Decide();
  EXPECT_TRUE(plan.write_status);
  EXPECT_THAT(plan.add_finalizers, IsEmpty()) << "pods come first";
  plan = world.Decide();
  EXPECT_THAT(plan.creates, SizeIs(1));
  EXPECT_THAT(plan.add_finalizers, IsEmpty());
  world.AddPod(0, PodPhase::kPending);
  world.Advance(world.options.status_write_delay);
  EXPECT_THAT(world.Decide().add_finalizers, ElementsAre("muster.dev/workers"));
  world.view.job.finalizers = {kFinalizer};
  world.Advance(world.options.status_write_delay);
  EXPECT_THAT(world.Decide().add_finalizers, IsEmpty());
}

TEST(AdmitTest, TheFinalizerIsThereBeforeTheFirstRound) {
  TestWorld world(1);
  world.view.job.finalizers.clear();
  world.Decide();
  world.AddWorkers();
  const Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Prepare:0");
  EXPECT_THAT(plan.add_finalizers, ElementsAre("muster.dev/workers"));
}

TEST(DeadlineTest, ASuspendedJobHasNone) {
  TestWorld world(1);
  world.view.spec.set_active_deadline("30s");
  world.view.spec.set_suspend(true);
  world.Decide();
  world.Advance(absl::Hours(1));
  world.Decide();
  EXPECT_EQ(world.view.status.state(), "Suspended");
  world.view.spec.set_suspend(false);
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
}

TEST(DeadlineTest, AsksForACheckpointFirst) {
  TestWorld world(1);
  world.view.spec.set_active_deadline("30s");
  world.MakeActive();
  world.Advance(absl::Seconds(30));
  const Plan plan = world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/DeadlineExceeded");
  ASSERT_EQ(OrderTexts(plan), "Stop:0");
  EXPECT_TRUE(std::get<StopOrder>(plan.orders[0].what).save);
}

}  // namespace
}  // namespace muster::control
