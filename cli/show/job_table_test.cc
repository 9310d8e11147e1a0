#include "cli/show/job_table.h"

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/training_job.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);

TrainingJob Job(const std::string& name, const std::string& state, double tokens_per_second) {
  TrainingJob job;
  job.name = name;
  job.ns = "team";
  job.creation_time = kNow - absl::Minutes(90);
  job.spec.mutable_workers()->set_count(4);
  job.spec.mutable_trainer()->mutable_train()->set_steps(300);
  job.status.set_state(state);
  job.status.mutable_workers()->set_ready(3);
  job.status.mutable_workers()->set_desired(4);
  job.status.mutable_progress()->set_step(12);
  job.status.mutable_progress()->set_loss(2.5);
  job.status.mutable_progress()->set_tokens_per_second(tokens_per_second);
  job.status.mutable_progress()->set_eta("1m40s");
  return job;
}

TEST(JobTableTest, ShowsHowEachJobStands) {
  TrainingJob training = Job("gpt", "Training", 51200);
  training.status.mutable_checkpoint()->set_step(10);
  TrainingJob fresh;
  fresh.name = "own-command";
  fresh.ns = "team";
  fresh.spec.mutable_workers()->set_count(2);
  EXPECT_EQ(JobTable({training, fresh}, /*with_namespace=*/true, kNow),
            "NAMESPACE   NAME          STATE      WORKERS   STEP     LOSS     TOKENS/S   ETA     "
            "CHECKPOINT   AGE\n"
            "team        gpt           Training   3/4       12/300   2.5000   51.2k      1m40s   "
            "step 10      90m\n"
            "team        own-command   -          0/2       -        -        -          -       "
            "-            -\n");
}

TEST(JobTableTest, AJobThatDoesNotTrainHasNoSpeedAndOneThatIsOverNoTimeLeft) {
  const std::string table = JobTable({Job("gpt", "Suspended", 51200)}, false, kNow);
  EXPECT_THAT(table, testing::Not(testing::HasSubstr("51.2k")));
  EXPECT_THAT(table, testing::Not(testing::HasSubstr("1m40s")));
}

TEST(TopTableTest, TheFastestJobIsFirstAndTheLastRowSums) {
  EXPECT_EQ(TopTable({Job("slow", "Training", 1000), Job("done", "Succeeded", 9000),
                      Job("waits", "Queued", 0), Job("fast", "Training", 2000)},
                     /*with_namespace=*/false),
            "NAME     STATE      WORKERS   STEP     LOSS     TOKENS/S   ETA\n"
            "fast     Training   3/4       12/300   2.5000   2k         1m40s\n"
            "slow     Training   3/4       12/300   2.5000   1k         1m40s\n"
            "waits    Queued     3/4       12/300   2.5000   -          -\n"
            "3 jobs   -          9         -        -        3k         -\n");
}

TEST(AgeTest, IsAsShortAsKubectls) {
  EXPECT_EQ(Age(kNow - absl::Seconds(45), kNow), "45s");
  EXPECT_EQ(Age(kNow - absl::Minutes(12), kNow), "12m");
  EXPECT_EQ(Age(kNow - absl::Hours(5), kNow), "5h");
  EXPECT_EQ(Age(kNow - absl::Hours(80), kNow), "3d");
  EXPECT_EQ(Age(kNow + absl::Seconds(5), kNow), "0s") << "the server's clock may be ahead";
  EXPECT_EQ(Age(absl::InfinitePast(), kNow), "");
}

}  // namespace
}  // namespace muster::cli
