#include "cli/jobs/apply.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/faulty_api.h"

namespace muster::cli {
namespace {

using control::TrainingJob;
using kube::Verb;

constexpr int kMoreThanAllAttempts = 100;

TrainingJob JobOfSteps(int64_t steps) {
  TrainingJob job;
  job.ns = "default";
  job.name = "small";
  job.spec.mutable_workers()->set_count(1);
  auto& trainer = *job.spec.mutable_trainer();
  trainer.mutable_model()->set_preset("gpt2-nano");
  trainer.mutable_data()->set_uri("/text.txt");
  trainer.mutable_train()->set_steps(steps);
  trainer.mutable_train()->set_global_batch(2);
  trainer.mutable_train()->set_sequence(64);
  job.spec.mutable_checkpoint()->set_uri("/checkpoints");
  return job;
}

class ApplyTest : public testing::Test {
 protected:
  int64_t Steps() {
    const auto job = GetJob(api_, key_);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? job->spec.trainer().train().steps() : -1;
  }
  void End(const std::string& state) {
    TrainingJob job = *GetJob(api_, key_);
    job.status.set_state(state);
    ASSERT_TRUE(api_.UpdateStatus(kube::kTrainingJobs, control::ToJson(job)).ok());
  }
  void LoseWrites(int times) {
    for (int i = 0; i < times; ++i) {
      api_.FailNext(Verb::kUpdate, absl::AbortedError("the object has been modified"));
    }
  }

  const kube::ObjectKey key_{"default", "small"};
  std::unique_ptr<kube::MemoryApi> memory_ = *kube::MemoryApi::Open(Clock::Real(), {});
  kube::FaultyApi api_{*memory_, {}};
};

// Regression: `muster run` failed with Aborted when the operator wrote the job's status first.
TEST_F(ApplyTest, TakingOverAJobThatTheOperatorWritesTooReadsItAgain) {
  const auto uid = ApplyJob(api_, *memory_, JobOfSteps(10), 0);
  ASSERT_TRUE(uid.ok()) << uid.status();
  const int64_t gets = api_.calls(Verb::kGet);
  LoseWrites(3);
  const auto again = ApplyJob(api_, *memory_, JobOfSteps(20), 0);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->uid, uid->uid);
  EXPECT_EQ(Steps(), 20);
  EXPECT_GE(api_.calls(Verb::kGet) - gets, 4) << "every attempt reads the job anew";
}

TEST_F(ApplyTest, SuspendingAJobThatTheOperatorWritesTooReadsItAgain) {
  ASSERT_TRUE(ApplyJob(api_, *memory_, JobOfSteps(10), 0).ok());
  LoseWrites(3);
  ASSERT_TRUE(SetJobSuspended(api_, key_, true).ok());
  EXPECT_TRUE(GetJob(api_, key_)->spec.suspend());
}

TEST_F(ApplyTest, AWriteThatAlwaysConflictsIsGivenUp) {
  ASSERT_TRUE(ApplyJob(api_, *memory_, JobOfSteps(10), 0).ok());
  LoseWrites(kMoreThanAllAttempts);
  EXPECT_EQ(ApplyJob(api_, *memory_, JobOfSteps(20), 0).status(),
            absl::AbortedError("the object has been modified"));
  EXPECT_LT(api_.calls(Verb::kUpdate), kMoreThanAllAttempts);
}

TEST_F(ApplyTest, AFinishedJobIsKeptWhenAlikeAndReplacedWhenNot) {
  const auto uid = ApplyJob(api_, *memory_, JobOfSteps(10), 0);
  ASSERT_TRUE(uid.ok()) << uid.status();
  End("Succeeded");
  const auto kept = ApplyJob(api_, *memory_, JobOfSteps(10), 10);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->uid, uid->uid);
  EXPECT_TRUE(kept->ended_before);
  const auto other = ApplyJob(api_, *memory_, JobOfSteps(20), 0);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(other->uid, uid->uid);
  EXPECT_FALSE(other->ended_before);
  EXPECT_EQ(Steps(), 20);
}

// Regression: a new manifest under an old name took over its progress: "steps 509 of 10".
TEST_F(ApplyTest, AnotherRunUnderTheNameIsRefusedWithTheTwoWaysOn) {
  ASSERT_TRUE(ApplyJob(api_, *memory_, JobOfSteps(1000), 0).ok());
  EXPECT_EQ(ApplyJob(api_, *memory_, JobOfSteps(10), 509).status(),
            absl::InvalidArgumentError(
                "there is a job small already, and this would be another run of that name: it has "
                "made 509 steps, and spec.trainer.train.steps is 10 now; to begin anew, add "
                "--fresh; to keep both, give this one another metadata.name"));
  EXPECT_EQ(Steps(), 1000) << "it is left as it was";
}

// Regression: `muster resume` of a failed job ended with "resourceVersion should not be set", and
// the job's record was gone.
TEST_F(ApplyTest, AFailedJobThatWasReadIsReplacedAndGoesOn) {
  const auto first = ApplyJob(api_, *memory_, JobOfSteps(10), 0);
  ASSERT_TRUE(first.ok()) << first.status();
  End("Failed");
  const auto again = ApplyJob(api_, *memory_, *GetJob(api_, key_), 0);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_NE(again->uid, first->uid);
  const TrainingJob job = *GetJob(api_, key_);
  EXPECT_EQ(job.status.state(), "") << "it is not failed any more";
  EXPECT_EQ(job.spec.trainer().train().steps(), 10);
}

// Regression: a finished job that was run again with more steps, after its checkpoints were
// removed, began at step 0 without a word.
TEST_F(ApplyTest, TheNewestKnownCheckpointOutlivesTheEndOfAJob) {
  ASSERT_TRUE(ApplyJob(api_, *memory_, JobOfSteps(10), 0).ok());
  TrainingJob job = *GetJob(api_, key_);
  job.status.set_state("Succeeded");
  job.status.add_incarnations(3);
  job.status.mutable_checkpoint()->set_step(10);
  job.status.mutable_checkpoint()->set_history("8f2c41d09be7a135");
  ASSERT_TRUE(api_.UpdateStatus(kube::kTrainingJobs, control::ToJson(job)).ok());
  ASSERT_TRUE(ApplyJob(api_, *memory_, JobOfSteps(20), 10).ok());
  job = *GetJob(api_, key_);
  EXPECT_EQ(job.status.state(), "");
  EXPECT_EQ(job.status.checkpoint().step(), 10);
  EXPECT_EQ(job.status.checkpoint().history(), "8f2c41d09be7a135");
  EXPECT_EQ(job.status.incarnations(0), 3);
}

TEST_F(ApplyTest, TuningsOutliveAManifestThatSaysNothingOfThem) {
  ASSERT_TRUE(ApplyJob(api_, *memory_, JobOfSteps(10), 0).ok());
  TrainingJob job = *GetJob(api_, key_);
  job.spec.mutable_trainer()->add_tunings()->set_learning_rate(1e-4);
  ASSERT_TRUE(api_.Update(kube::kTrainingJobs, control::ToJson(job)).ok());
  job = *GetJob(api_, key_);
  job.status.mutable_checkpoint()->set_step(10);
  job.status.add_tunings()->set_step(7);
  ASSERT_TRUE(api_.UpdateStatus(kube::kTrainingJobs, control::ToJson(job)).ok());
  ASSERT_TRUE(ApplyJob(api_, *memory_, JobOfSteps(20), 10).ok()) << "while it runs";
  ASSERT_EQ(GetJob(api_, key_)->spec.trainer().tunings_size(), 1);
  End("Succeeded");
  const auto kept = ApplyJob(api_, *memory_, JobOfSteps(20), 20);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_TRUE(kept->ended_before) << "nothing of the manifest has changed";
  ASSERT_TRUE(ApplyJob(api_, *memory_, JobOfSteps(30), 20).ok());
  job = *GetJob(api_, key_);
  EXPECT_EQ(job.spec.trainer().train().steps(), 30);
  ASSERT_EQ(job.spec.trainer().tunings_size(), 1);
  EXPECT_EQ(job.spec.trainer().tunings(0).learning_rate(), 1e-4);
  ASSERT_EQ(job.status.tunings_size(), 1);
  EXPECT_EQ(job.status.tunings(0).step(), 7);
  TrainingJob other = JobOfSteps(40);
  other.spec.mutable_trainer()->add_tunings()->set_learning_rate(2e-4);
  ASSERT_TRUE(ApplyJob(api_, *memory_, other, 20).ok());
  ASSERT_EQ(GetJob(api_, key_)->spec.trainer().tunings_size(), 1);
  EXPECT_EQ(GetJob(api_, key_)->spec.trainer().tunings(0).learning_rate(), 2e-4)
      << "a manifest that lists its own means them";
}

// Regression: the old job was deleted first, so that a full disk left neither.
TEST_F(ApplyTest, AJobThatCannotBeReplacedIsStillThere) {
  MemoryFiles files;
  kube::MemoryApiOptions options;
  options.directory = JoinPath(testing::TempDir(), "cannot-be-replaced");
  options.wal.files = &files;
  ASSERT_TRUE(files.MakeDirectories(options.directory).ok());
  memory_ = *kube::MemoryApi::Open(Clock::Real(), options);
  const auto first = ApplyJob(*memory_, *memory_, JobOfSteps(10), 0);
  ASSERT_TRUE(first.ok()) << first.status();
  TrainingJob job = *GetJob(*memory_, key_);
  job.status.set_state("Failed");
  ASSERT_TRUE(memory_->UpdateStatus(kube::kTrainingJobs, control::ToJson(job)).ok());
  files.SetFault([](auto, const std::string&) { return absl::ResourceExhaustedError("full"); });
  EXPECT_FALSE(ApplyJob(*memory_, *memory_, JobOfSteps(20), 0).ok());
  files.SetFault(nullptr);
  memory_.reset();
  memory_ = *kube::MemoryApi::Open(Clock::Real(), options);
  job = *GetJob(*memory_, key_);
  EXPECT_EQ(job.uid, first->uid);
  EXPECT_EQ(job.status.state(), "Failed");
}

TEST_F(ApplyTest, OtherErrorsAreNotRepeated) {
  ASSERT_TRUE(ApplyJob(api_, *memory_, JobOfSteps(10), 0).ok());
  api_.FailNext(Verb::kUpdate, absl::PermissionDeniedError("no"));
  EXPECT_EQ(ApplyJob(api_, *memory_, JobOfSteps(20), 0).status(),
            absl::PermissionDeniedError("no"));
  EXPECT_EQ(Steps(), 10);
}

}  // namespace
}  // namespace muster::cli
