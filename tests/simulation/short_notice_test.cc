// Tests a notice that is shorter than a checkpoint, at a random moment of a job on virtual time:
// the worker hands over in time, no step is done twice and no failure is counted, whatever the
// seed.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/testing/test_iterations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::IsEmpty;

constexpr int kWorkers = 4;
constexpr absl::Duration kNotice = absl::Seconds(30);
constexpr absl::Duration kSave = absl::Seconds(60);
constexpr absl::Duration kJoin = absl::Seconds(5);

class ShortNoticeTest : public testing::TestWithParam<int> {
 protected:
  ShortNoticeTest() : world_({.seed = static_cast<uint64_t>(GetParam()), .election = false}) {
    world_.fleet->SetSaveTime(kSave);
    world_.fleet->SetSaveEvery(300);
    world_.fleet->SetJoinTime(kJoin, absl::Seconds(20));
    for (int i = 0; i < kWorkers; ++i) world_.AddNode(Name(i), 1);
    job_ = world_.CreateJob("gpt", {{"workers", {{"count", kWorkers}, {"min", 1}}},
                                    {"trainer", {{"train", {{"steps", 1'000'000}}}}}});
  }
  static std::string Name(int node) { return absl::StrCat("node-", node); }
  v1alpha1::TrainingJobStatus Status() const { return world_.Job("gpt").status; }
  bool TrainsWith(int workers) const {
    return world_.fleet->Training(job_.uid) == workers && Status().state() == "Training";
  }

  ReplicaWorld world_;
  TrainingJob job_;
};

TEST_P(ShortNoticeTest, AWorkerHandsOverInLessTimeThanACheckpointNeeds) {
  ASSERT_TRUE(world_.RunUntil([&] { return TrainsWith(kWorkers); }, absl::Minutes(1)));
  // Some notices come while a checkpoint is written.
  world_.RunFor(absl::Milliseconds(world_.Number(0, 120'000)));
  const std::string node = Name(world_.Number(0, kWorkers - 1));
  world_.SetNotice(node, kNotice);
  world_.RunFor(kNotice);
  EXPECT_EQ(Status().workers().last_notice().outcome(), "Kept")
      << Status().workers().last_notice().message();
  EXPECT_TRUE(TrainsWith(kWorkers - 1));
  world_.fleet->LoseNode(node);
  ASSERT_TRUE(world_.memory->Delete(kube::kNodes, {"", node}, {}).ok());
  world_.AddNode("new", 1);
  EXPECT_TRUE(world_.RunUntil([&] { return TrainsWith(kWorkers); }, absl::Minutes(5)));
  EXPECT_EQ(world_.fleet->steps_done(), world_.promises.committed(job_.uid));
  EXPECT_EQ(Status().failures().count(), 0);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, ShortNoticeTest,
    testing::Range(1, 1 + TestIterations({.sanitized = 10, .usual = 100, .full = 100})));

}  // namespace
}  // namespace muster::control
