// Tests stops of a job whose saves fail.
#include "operator/core/round/suspend.h"

#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/options.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A job of one worker that trains, has the checkpoint of step 20 and fails to save later ones.
class UnsavedTest : public testing::Test {
 protected:
  UnsavedTest() {
    world_.view.spec.mutable_checkpoint()->set_uri("/ck");
    world_.MakeActive();
    Train(60);
    world_.view.checkpoint.written = Checkpoint(20);
    world_.view.checkpoint.failed = Checkpoint(60);
    world_.view.checkpoint.failed->set_error("the checkpoint needs 9 MB, 1 MB are free");
    world_.Decide();
    world_.view.spec.set_suspend(true);
  }
  v1alpha1::CheckpointReport Checkpoint(int64_t step) {
    v1alpha1::CheckpointReport report;
    report.mutable_version()->set_step(step);
    report.mutable_version()->set_attempt(1);
    report.set_directory("step");
    return report;
  }
  void Train(int64_t step) {
    world_.view.progress.latest.emplace();
    world_.view.progress.latest->mutable_version()->set_step(step);
    world_.view.progress.latest->mutable_version()->set_attempt(1);
  }
  void Finish(int64_t step, int64_t durable) {
    FinishedReport finished{world_.memory.id, true, 0, "", {}};
    finished.version.set_step(step);
    finished.durable_step = durable;
    world_.view.agents[0].finished = finished;
  }
  void LoseWorkers() {
    world_.view.pods.clear();
    world_.view.agents.clear();
  }
  std::string Message() {
    return FindCondition(world_.view.status, ConditionType::kSuspended)->message();
  }

  TestWorld world_{1};
};

// Regression: the workers were ended after a minute, and the job said that its checkpoints are
// kept.
TEST_F(UnsavedTest, AStopWaitsWhileItsSaveFailsAndSaysWhatIsNotSaved) {
  EXPECT_EQ(OrderTexts(world_.Decide()), "Stop:0");
  for (int i = 0; i < 5; ++i) {
    world_.Advance(DecideOptions{}.stop_deadline);
    world_.view.agents[0].last_heard = world_.view.now;
    EXPECT_THAT(world_.Decide().deletes, IsEmpty()) << i;
  }
  EXPECT_EQ(world_.Condition(ConditionType::kSuspended), "False/StepsNotSaved");
  EXPECT_EQ(Message(),
            "steps 21 to 60 are not saved: the checkpoint needs 9 MB, 1 MB are free; the stop "
            "waits until they can be saved");

  world_.view.checkpoint.written = Checkpoint(60);
  world_.view.checkpoint.failed.reset();
  Finish(60, 60);
  EXPECT_THAT(world_.Decide().deletes, SizeIs(1));
  LoseWorkers();
  world_.Decide();
  EXPECT_EQ(world_.Condition(ConditionType::kSuspended), "True/WorkersStopped");
}

TEST_F(UnsavedTest, AStopThatLosesStepsSaysSoForGood) {
  world_.Decide();
  LoseWorkers();
  const Plan plan = world_.Decide();
  EXPECT_THAT(EventReasons(plan), HasSubstr("StepsNotSaved"));
  EXPECT_EQ(world_.Condition(ConditionType::kSuspended), "True/StepsNotSaved");
  const std::string said = Message();
  EXPECT_EQ(said,
            "no worker runs; steps 21 to 60 are not saved: the checkpoint needs 9 MB, 1 MB are "
            "free");
  // The next leader has no reports.
  world_.view.checkpoint = {};
  world_.view.progress = {};
  world_.memory = {};
  world_.Decide();
  EXPECT_EQ(Message(), said);
}

// Regression: a job that waited for room for its last step lost every step when it was stopped.
TEST_F(UnsavedTest, AStopOfAJobWhoseLastStepIsNotSavedTriesThatAgain) {
  Train(100);
  Finish(100, 20);
  for (int i = 0; i < 3; ++i) {
    const Plan plan = world_.Decide();
    EXPECT_THAT(plan.deletes, IsEmpty()) << i;
    EXPECT_THAT(OrderTexts(plan), Not(HasSubstr("Stop"))) << i;
    EXPECT_EQ(world_.Condition(ConditionType::kSuspended), "False/StepsNotSaved") << i;
    world_.Advance(absl::Seconds(5));
    world_.view.agents[0].last_heard = world_.view.now;
  }
  EXPECT_THAT(Message(), HasSubstr("steps 21 to 100 are not saved"));
}

TEST_F(UnsavedTest, AStopWhoseSavesWorkIsAGoodOne) {
  world_.view.checkpoint.failed.reset();
  EXPECT_EQ(OrderTexts(world_.Decide()), "Stop:0");
  EXPECT_EQ(world_.Condition(ConditionType::kSuspended), "False/SuspendRequested");
  world_.view.checkpoint.written = Checkpoint(60);
  LoseWorkers();
  world_.Decide();
  EXPECT_EQ(world_.Condition(ConditionType::kSuspended), "True/WorkersStopped");
}

}  // namespace
}  // namespace muster::control
