// Trains with the built muster-trainer, undisturbed and with ranks that are killed, for curves.py:
// each run has its event files in logs/RUN, and reports.json has the reports of the undisturbed
// run, which all others train alike.

#include <signal.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/engine/testing/rank_process.h"

namespace muster::trainer {
namespace {

using v1alpha1::FromTrainer;
using v1alpha1::ResumePoint;

// The trainers' job is default/test.
v1alpha1::TrainingJobSpec SpecOf(const std::string& run) {
  v1alpha1::TrainingJobSpec spec = Spec(Folder(run));
  spec.mutable_trainer()->mutable_logs()->set_tensor_board(Folder("logs-of-" + run));
  return spec;
}

ResumePoint FromNewest(const v1alpha1::RankReady& ready) {
  ResumePoint resume;
  resume.set_source(ResumePoint::CHECKPOINT);
  EXPECT_GE(ready.position().checkpoints_size(), 1);
  *resume.mutable_checkpoint() = ready.position().checkpoints(0);
  *resume.mutable_version() = resume.checkpoint().version();
  return resume;
}

TEST(DisturbedRuns, Undisturbed) {
  const auto spec = SpecOf("undisturbed");
  RankProcess a(spec), b(spec);
  Go(1, {&a, &b}, Prepare(1, {&a, &b}), Fresh());
  Finish({&a, &b});
  ASSERT_EQ(a.reports.size(), 30);
  Json reports = Json::array();
  for (const v1alpha1::StepReport& report : a.reports) {
    Json one = {{"step", report.version().step()},
                {"train/loss", report.loss()},
                {"train/gradientNorm", report.gradient_norm()},
                {"train/learningRate", report.learning_rate()},
                {"train/skippedSteps", report.skipped_total()}};
    if (report.has_validation_loss()) one["validation/loss"] = report.validation_loss();
    reports.push_back(one);
  }
  const std::string path =
      JoinPath(ParentPath(spec.trainer().logs().tensor_board()), "reports.json");
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), path, DumpJson(reports)).ok());
}

TEST(DisturbedRuns, AnotherRankIsReplaced) {
  const auto spec = SpecOf("replaced");
  RankProcess a(spec), b(spec, "trainer.after_vote=kill@7");
  Go(1, {&a, &b}, Prepare(1, {&a, &b}), Fresh());
  EXPECT_EQ(b.End(kTimeoutMs)->signal, SIGKILL);
  RankProcess c(spec);
  const auto ready = Prepare(2, {&a, &c});
  Go(2, {&a, &c}, ready, Live(ready));
  Finish({&a, &c});
}

// The rank that writes is killed before it has written step 17, which the other one applies.
TEST(DisturbedRuns, TheFirstRankIsLostAndTheOtherTakesItsPlace) {
  const auto spec = SpecOf("taken-over");
  RankProcess a(spec, "trainer.mid_apply=kill@17"), b(spec);
  Go(1, {&a, &b}, Prepare(1, {&a, &b}), Fresh());
  EXPECT_EQ(a.End(kTimeoutMs)->signal, SIGKILL);
  RankProcess c(spec);
  const auto ready = Prepare(2, {&b, &c});
  EXPECT_GE(ready[0].position().applied().step(), 16);
  Go(2, {&b, &c}, ready, Live(ready));
  Finish({&b, &c});
}

// Returns when the first rank has reported that the checkpoint of step 10 is whole, and is in step
// 17.
void AwaitCheckpointAndSteps(RankProcess& first) {
  v1alpha1::CheckpointReport report;
  do {
    report = first.Await(FromTrainer::kCheckpoint).checkpoint();
  } while (report.phase() == v1alpha1::CheckpointReport::STARTED);
  ASSERT_EQ(report.phase(), v1alpha1::CheckpointReport::WRITTEN) << report.error();
  ASSERT_EQ(report.version().step(), 10);
  while (first.Await(FromTrainer::kHeartbeat).heartbeat().step() < 17) continue;
}

// All ranks are lost at step 17; others begin from the checkpoint of step 10. The first rank stays
// in step 17 until it is killed, so that the checkpoint is written before.
TEST(DisturbedRuns, AllRanksAreLostAndStepsAreTrainedAgain) {
  const auto spec = SpecOf("resumed");
  {
    RankProcess a(spec, "trainer.after_vote=sleep:60000@17"), b(spec);
    Go(1, {&a, &b}, Prepare(1, {&a, &b}), Fresh());
    AwaitCheckpointAndSteps(a);
    a.Kill();
  }
  RankProcess c(spec), d(spec);
  const auto ready = Prepare(2, {&c, &d});
  const ResumePoint resume = FromNewest(ready[0]);
  EXPECT_EQ(resume.version().step(), 10);
  Go(2, {&c, &d}, ready, resume);
  Finish({&c, &d});
}

// The directory cannot be made, because a file is in its place.
TEST(DisturbedRuns, WithoutADirectoryTrainingGoesOn) {
  auto spec = SpecOf("nowhere");
  spec.mutable_trainer()->mutable_logs()->set_tensor_board(spec.trainer().data().uri());
  RankProcess a(spec);
  Go(1, {&a}, Prepare(1, {&a}), Fresh());
  Finish({&a});
  EXPECT_EQ(a.reports.size(), 30);
}

}  // namespace
}  // namespace muster::trainer
