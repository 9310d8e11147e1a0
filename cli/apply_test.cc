#include "cli/apply.h"

#include <memory>

#include "absl/status/status.h"
#include "base/clock.h"
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
  const auto uid = ApplyJob(api_, JobOfSteps(10), 0);
  ASSERT_TRUE(uid.ok()) << uid.status();
  const int64_t gets = api_.calls(Verb::kGet);
  LoseWrites(3);
  const auto again = ApplyJob(api_, JobOfSteps(20), 0);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->uid, uid->uid);
  EXPECT_EQ(Steps(), 20);
  EXPECT_GE(api_.calls(Verb::kGet) - gets, 4) << "every attempt reads the job anew";
}

TEST_F(ApplyTest, SuspendingAJobThatTheOperatorWritesTooReadsItAgain) {
  ASSERT_TRUE(ApplyJob(api_, JobOfSteps(10), 0).ok());
  LoseWrites(3);
  ASSERT_TRUE(SetJobSuspended(api_, key_, true).ok());
  EXPECT_TRUE(GetJob(api_, key_)->spec.suspend());
}

TEST_F(ApplyTest, AWriteThatAlwaysConflictsIsGivenUp) {
  ASSERT_TRUE(ApplyJob(api_, JobOfSteps(10), 0).ok());
  LoseWrites(kMoreThanAllAttempts);
  EXPECT_EQ(ApplyJob(api_, JobOfSteps(20), 0).status(),
            absl::AbortedError("the object has been modified"));
  EXPECT_LT(api_.calls(Verb::kUpdate), kMoreThanAllAttempts);
}

TEST_F(ApplyTest, AFinishedJobIsKeptWhenAlikeAndReplacedWhenNot) {
  const auto uid = ApplyJob(api_, JobOfSteps(10), 0);
  ASSERT_TRUE(uid.ok()) << uid.status();
  TrainingJob job = *GetJob(api_, key_);
  job.status.set_state("Succeeded");
  ASSERT_TRUE(api_.UpdateStatus(kube::kTrainingJobs, control::ToJson(job)).ok());
  const auto kept = ApplyJob(api_, JobOfSteps(10), 10);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->uid, uid->uid);
  EXPECT_TRUE(kept->ended_before);
  const auto other = ApplyJob(api_, JobOfSteps(20), 0);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(other->uid, uid->uid);
  EXPECT_FALSE(other->ended_before);
  EXPECT_EQ(Steps(), 20);
}

// Regression: a new manifest under an old name took over its progress: "steps 509 of 10".
TEST_F(ApplyTest, AnotherRunUnderTheNameIsRefusedWithTheTwoWaysOn) {
  ASSERT_TRUE(ApplyJob(api_, JobOfSteps(1000), 0).ok());
  EXPECT_EQ(ApplyJob(api_, JobOfSteps(10), 509).status(),
            absl::InvalidArgumentError(
                "there is a job small already, and this would be another run of that name: it has "
                "made 509 steps, and spec.trainer.train.steps is 10 now; to begin anew: muster run "
                "--fresh; to keep both, give this one another metadata.name"));
  EXPECT_EQ(Steps(), 1000) << "it is left as it was";
}

TEST_F(ApplyTest, OtherErrorsAreNotRepeated) {
  ASSERT_TRUE(ApplyJob(api_, JobOfSteps(10), 0).ok());
  api_.FailNext(Verb::kUpdate, absl::PermissionDeniedError("no"));
  EXPECT_EQ(ApplyJob(api_, JobOfSteps(20), 0).status(), absl::PermissionDeniedError("no"));
  EXPECT_EQ(Steps(), 10);
}

}  // namespace
}  // namespace muster::cli
