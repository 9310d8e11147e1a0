#include "cli/kubectl/job_progress.h"

#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "gtest/gtest.h"
#include "operator/api/training_job.h"
#include "operator/core/state/conditions.h"

namespace muster::cli::kubectl {
namespace {

using control::ConditionType;
using control::Reason;

control::TrainingJob Job() {
  control::TrainingJob job;
  job.name = "gpt";
  job.status.set_state("Training");
  job.status.mutable_workers()->set_ready(2);
  job.status.mutable_workers()->set_desired(2);
  job.status.mutable_progress()->set_step(40);
  job.status.mutable_progress()->set_steps(100);
  job.status.mutable_progress()->set_loss(2.5);
  job.status.mutable_progress()->set_tokens_per_second(1000);
  job.status.mutable_progress()->set_eta("1m0s");
  return job;
}

TEST(ProgressOfTest, TheStatusMakesALine) {
  EXPECT_EQ(PlainLine(ProgressOf(Job())),
            "step=40/100 state=Training loss=2.5000 tokens/s=1k eta=1m00s workers=2/2 round=0");
}

TEST(ProgressOfTest, AJobThatNoOperatorHasSeenIsPending) {
  EXPECT_EQ(ProgressOf({}).state, "Pending");
  EXPECT_EQ(ProgressOf({}).steps_per_second, 0);
}

TEST(EndOfTest, EachEndHasItsExitCode) {
  EXPECT_FALSE(EndOf(Job()).has_value());
  control::TrainingJob good = Job();
  control::SetCondition(good.status, ConditionType::kSucceeded, true, Reason::kTrainingFinished,
                        "all 100 steps are trained", absl::UnixEpoch(), 1);
  EXPECT_EQ(EndOf(good)->exit_code, kExitOk);
  EXPECT_EQ(EndOf(good)->sentence, "job gpt has succeeded: all 100 steps are trained");
  control::TrainingJob bad = Job();
  control::SetCondition(bad.status, ConditionType::kFailed, true, Reason::kLastStepNotSaved,
                        "the disk is full", absl::UnixEpoch(), 1);
  EXPECT_EQ(EndOf(bad)->exit_code, kExitFailed);
  EXPECT_EQ(EndOf(bad)->sentence, "job gpt has failed: the disk is full");
}

TEST(EndOfTest, OnlyASuspensionThatIsWantedEndsTheWait) {
  control::TrainingJob job = Job();
  job.status.set_state("Suspended");
  EXPECT_FALSE(EndOf(job).has_value()) << "it was resumed, which the operator has not seen yet";
  job.spec.set_suspend(true);
  EXPECT_EQ(EndOf(job)->exit_code, kExitStopped);
}

}  // namespace
}  // namespace muster::cli::kubectl
