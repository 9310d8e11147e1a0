#include "cli/jobs/job_removal.h"

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class JobRemovalTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(RemoveAll(files_, paths_.folder()).ok());
    ASSERT_TRUE(files_.MakeDirectories(paths_.pods()).ok());
    ASSERT_TRUE(WriteFileAtomically(files_, paths_.history(), "{}\n").ok());
    (void)*OpenApi();
  }
  absl::StatusOr<std::unique_ptr<kube::MemoryApi>> OpenApi() {
    kube::MemoryApiOptions options;
    options.directory = paths_.api();
    return kube::MemoryApi::Open(Clock::Real(), std::move(options));
  }
  void AddCheckpoint(const std::string& name) {
    const std::string folder = JoinPath(paths_.checkpoints(), name);
    ASSERT_TRUE(files_.MakeDirectories(folder).ok());
    ASSERT_TRUE(WriteFileAtomically(files_, JoinPath(folder, "DONE"), "x").ok());
  }

  Files& files_ = FileSystem();
  const JobPaths paths_{testing::TempDir() + "/removal", "small"};
};

TEST_F(JobRemovalTest, LeavesNothingOfAJobWithoutCheckpoints) {
  const auto kept = RemoveJob(files_, paths_);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(*kept, "");
  EXPECT_FALSE(Exists(files_, paths_.folder()));
}

TEST_F(JobRemovalTest, CheckpointsAreKeptWhereNoLaterJobResumesFromThem) {
  AddCheckpoint("step-000000020");
  AddCheckpoint("step-000000030.r4");
  const auto kept = RemoveJob(files_, paths_);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_FALSE(Exists(files_, paths_.api()));
  EXPECT_FALSE(Exists(files_, paths_.history()));
  const auto left = files_.List(paths_.checkpoints());
  ASSERT_TRUE(left.ok()) << left.status();
  ASSERT_EQ(left->size(), 1u);
  EXPECT_THAT(left->front().name, StartsWith("abandoned-"));
  const std::string aside = JoinPath(paths_.checkpoints(), left->front().name);
  EXPECT_EQ(*kept, aside) << "`muster delete` names the place";
  EXPECT_TRUE(Exists(files_, aside + "/step-000000020/DONE"));
  EXPECT_TRUE(Exists(files_, aside + "/step-000000030.r4/DONE"));
}

TEST_F(JobRemovalTest, AJobThatRunsIsRefusedAndLeftAsItIs) {
  const auto running = OpenApi();
  ASSERT_TRUE(running.ok()) << running.status();
  const absl::Status refused = RemoveJob(files_, paths_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("job small is running; stop it first"));
  EXPECT_TRUE(Exists(files_, paths_.history()));
}

TEST_F(JobRemovalTest, WithoutCheckpointsThereIsNothingToSetAside) {
  EXPECT_EQ(SetCheckpointsAside(files_, paths_.checkpoints())->where, "");
  ASSERT_TRUE(files_.MakeDirectories(paths_.checkpoints()).ok());
  EXPECT_EQ(SetCheckpointsAside(files_, paths_.checkpoints())->where, "");
  EXPECT_TRUE(files_.List(paths_.checkpoints())->empty());
}

}  // namespace
}  // namespace muster::cli
