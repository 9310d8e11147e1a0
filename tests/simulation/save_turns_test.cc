// Tests jobs that save to one storage, in the whole operator, on virtual time.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

constexpr int kJobs = 4;

class SaveTurnsTest : public testing::Test {
 protected:
  // Four jobs begin at the same time and save every 30 s, which takes 5 s.
  void Begin(int most, const std::vector<std::string>& uris) {
    world_ = std::make_unique<ReplicaWorld>(
        ReplicaWorld::Options{.seed = 1, .election = false, .max_savers_per_storage = most});
    world_->fleet->SetSaveTime(absl::Seconds(5));
    world_->fleet->SetSaveEvery(1'000'000);
    world_->AddNode("node", 2 * kJobs);
    for (int i = 0; i < kJobs; ++i) {
      const Json interval = {{"mode", "Auto"}, {"min", "30s"}, {"max", "30s"}};
      world_->CreateJob(Name(i),
                        {{"checkpoint", {{"uri", uris[i % uris.size()]}, {"interval", interval}}},
                         {"workers", {{"count", 1}}},
                         {"trainer", {{"train", {{"steps", 1'000'000}}}}}});
    }
  }
  static std::string Name(int job) { return absl::StrCat("job-", job); }

  // Returns the largest number of checkpoints that were written at a time in five minutes.
  size_t MostAtATime() {
    size_t most = 0;
    for (absl::Time end = world_->clock.Monotonic() + absl::Minutes(5);
         world_->clock.Monotonic() < end;) {
      world_->Tick();
      most = std::max(most, world_->fleet->saves_underway());
    }
    return most;
  }
  void ExpectAllSave() {
    // The first save comes after 30 s, and each of the others 30 s later, or 5 s more.
    EXPECT_GE(world_->fleet->saves_done(), kJobs * 7);
    for (int i = 0; i < kJobs; ++i) {
      EXPECT_TRUE(world_->Job(Name(i)).status.checkpoint().has_step()) << i;
    }
    EXPECT_THAT(world_->promises.broken(), testing::IsEmpty());
  }

  std::unique_ptr<ReplicaWorld> world_;
};

TEST_F(SaveTurnsTest, WithoutALimitJobsOfOneStorageSaveAtTheSameTime) {
  Begin(0, {"s3://bucket/a"});
  EXPECT_GT(MostAtATime(), 2u);
  ExpectAllSave();
}

TEST_F(SaveTurnsTest, WithALimitTheySaveOneAfterTheOther) {
  Begin(1, {"s3://bucket/a", "s3://bucket/b"});
  EXPECT_EQ(MostAtATime(), 1u);
  ExpectAllSave();
}

TEST_F(SaveTurnsTest, TheLimitIsThatOfEachStorage) {
  Begin(1, {"s3://one/a", "s3://two/a"});
  EXPECT_EQ(MostAtATime(), 2u);
  ExpectAllSave();
}

TEST_F(SaveTurnsTest, AJobThatIsLostWhileItWritesHoldsNobodyUp) {
  Begin(1, {"s3://bucket/a"});
  ASSERT_TRUE(
      world_->RunUntil([&] { return world_->fleet->saves_underway() == 1; }, absl::Minutes(2)));
  for (int i = 0; i < kJobs; ++i) {
    world_->fleet->KillAgent(world_->Job(Name(i)).uid, 0);
  }
  EXPECT_EQ(MostAtATime(), 1u);
  ExpectAllSave();
}

}  // namespace
}  // namespace muster::control
