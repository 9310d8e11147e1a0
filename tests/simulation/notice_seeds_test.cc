// Tests random notices of the cloud on random nodes at random times, late, taken back and repeated
// ones among them, while leaders die: a job of two workers loses no committed step that a live
// worker still has, counts no failure, and trains with both once machines are there to stay.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/testing/test_iterations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/view.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::IsEmpty;

constexpr int kNodes = 4;
constexpr int kEvents = 8;

class NoticeSeedsTest : public testing::TestWithParam<int> {
 protected:
  NoticeSeedsTest() : world_({.seed = static_cast<uint64_t>(GetParam()), .replicas = 2}) {
    for (int i = 0; i < kNodes; ++i) world_.AddNode(absl::StrCat("node-", i), 1);
  }
  void Label(int number, const Json& labels) {
    Json node = *world_.memory->Get(kube::kNodes, {"", absl::StrCat("node-", number)});
    if (!node["metadata"]["labels"].is_object()) node["metadata"]["labels"] = Json::object();
    node["metadata"]["labels"].merge_patch(labels);
    ASSERT_TRUE(world_.memory->Update(kube::kNodes, node).ok());
  }
  void Announce(int node) {
    const absl::Time deadline = world_.clock.Wall() + absl::Seconds(world_.Number(-10, 120));
    Label(node, {{kNoticeLabel, world_.Number(0, 1) == 0 ? "Reclaim" : "Maintenance"},
                 {kNoticeWhoLabel, "AWS"},
                 {kNoticeDeadlineLabel, absl::StrCat(absl::ToUnixSeconds(deadline))}});
  }
  void TakeBack(int node) {
    Label(node,
          {{kNoticeLabel, nullptr}, {kNoticeWhoLabel, nullptr}, {kNoticeDeadlineLabel, nullptr}});
  }
  void DoSomething() {
    const int node = world_.Number(0, kNodes - 1);
    const int what = world_.Number(0, 9);
    if (what < 5) {
      Announce(node);
    } else if (what < 8) {
      TakeBack(node);
    } else if (ReplicaWorld::Host* leader = world_.Leader()) {
      world_.Kill(*leader, absl::Seconds(world_.Number(1, 30)));
    }
  }
  v1alpha1::TrainingJobStatus Status() const { return world_.Job("gpt").status; }
  bool Trains() {
    const v1alpha1::TrainingJobStatus status = Status();
    return world_.fleet->Training(world_.Job("gpt").uid) == 2 && status.state() == "Training" &&
           status.workers().leaving_size() == 0;
  }

  ReplicaWorld world_;
};

TEST_P(NoticeSeedsTest, NoticesLoseNoStepAndCountNoFailure) {
  world_.CreateJob("gpt", {{"workers", {{"count", 2}, {"min", 1}}},
                           {"trainer", {{"train", {{"steps", 1'000'000}}}}}});
  ASSERT_TRUE(world_.RunUntil([&] { return Trains(); }, absl::Minutes(1)));
  for (int event = 0; event < kEvents; ++event) {
    DoSomething();
    world_.RunFor(absl::Seconds(world_.Number(1, 40)));
  }
  for (int node = 0; node < kNodes; ++node) TakeBack(node);
  EXPECT_TRUE(world_.RunUntil([&] { return Trains(); }, absl::Minutes(10)))
      << "seed " << GetParam();
  const int64_t round = Status().round();
  world_.RunFor(absl::Minutes(5));
  EXPECT_EQ(Status().round(), round) << "it has come to rest; seed " << GetParam();
  EXPECT_EQ(world_.Pods().size(), 2u) << "seed " << GetParam();
  EXPECT_EQ(Status().failures().count(), 0) << "seed " << GetParam();
  EXPECT_THAT(world_.promises.broken(), IsEmpty()) << "seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, NoticeSeedsTest,
    testing::Range(1, 1 + TestIterations({.sanitized = 4, .usual = 24, .full = 1000})));

}  // namespace
}  // namespace muster::control
