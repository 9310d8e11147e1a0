// Tests jobs whose machines are announced to go away, as node agents report it, in the whole
// operator on virtual time.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/round/gang.h"
#include "operator/core/state/view.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class NoticeTest : public testing::Test {
 protected:
  explicit NoticeTest(int replicas = 1)
      : world_({.seed = 1, .replicas = replicas, .election = replicas > 1}) {
    world_.AddNode("node-1", 2);
  }
  void Train() {
    job_ = world_.CreateJob("gpt", {{"trainer", {{"train", {{"steps", 100000}}}}}});
    ASSERT_TRUE(world_.RunUntil([&] { return Training(); }, absl::Seconds(30)));
  }
  bool Training() {
    return world_.Leader() != nullptr && world_.fleet->Training(job_.uid) == 2 &&
           world_.Job("gpt").status.state() == "Training";
  }
  v1alpha1::TrainingJobStatus Status() const { return world_.Job("gpt").status; }
  bool Moved(int incarnation = 2) {
    const v1alpha1::TrainingJobStatus status = Status();
    return Training() && status.incarnations(0) == incarnation &&
           status.incarnations(1) == incarnation;
  }
  std::string Outcome() const { return Status().workers().last_notice().outcome(); }
  void ExpectUnharmed() {
    EXPECT_EQ(Status().failures().count(), 0);
    EXPECT_THAT(world_.promises.broken(), IsEmpty());
  }

  ReplicaWorld world_;
  TrainingJob job_;
};

class NoticeLeaderTest : public NoticeTest {
 protected:
  NoticeLeaderTest() : NoticeTest(2) {}
};

TEST_F(NoticeTest, AllWorkersLeaveByTheDeadlineAndTheJobGoesOnElsewhere) {
  Train();
  world_.SetNotice("node-1", absl::Seconds(100));
  world_.AddNode("node-2", 2);
  const absl::Time noticed = world_.clock.Monotonic();
  ASSERT_TRUE(world_.RunUntil([&] { return Moved(); }, absl::Seconds(100)));
  EXPECT_LE(world_.clock.Monotonic() - noticed, absl::Seconds(100));
  EXPECT_EQ(Outcome(), "Kept");
  EXPECT_GT(Status().workers().last_notice().seconds_left(), 0);
  for (const Json& pod : world_.Pods()) {
    if (kube::LabelOf(pod, kIncarnationLabel) != "2") continue;
    EXPECT_EQ(kube::StringAt(pod, {"spec", "nodeName"}), "node-2");
  }
  ExpectUnharmed();
}

TEST_F(NoticeTest, ANoticeThatIsTakenBackMovesNobody) {
  world_.fleet->SetSaveTime(absl::Minutes(10));
  Train();
  world_.SetNotice("node-1", absl::Seconds(100));
  world_.AddNode("node-2", 2);
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(Status().workers().leaving_size(), 2);
  world_.SetNotice("node-1", std::nullopt);
  world_.RunFor(absl::Minutes(5));
  EXPECT_TRUE(Moved(1));
  EXPECT_EQ(Outcome(), "Withdrawn");
  EXPECT_EQ(Status().workers().leaving_size(), 0);
  ExpectUnharmed();
}

TEST_F(NoticeTest, ASecondNoticeAfterOneThatWasTakenBackCounts) {
  Train();
  world_.SetNotice("node-1", absl::Seconds(100));
  world_.RunFor(absl::Seconds(10));
  world_.SetNotice("node-1", std::nullopt);
  world_.RunFor(absl::Minutes(1));
  world_.SetNotice("node-1", absl::Seconds(60));
  world_.AddNode("node-2", 2);
  ASSERT_TRUE(world_.RunUntil([&] { return Moved(); }, absl::Seconds(60)));
  EXPECT_EQ(Outcome(), "Kept");
  ExpectUnharmed();
}

TEST_F(NoticeTest, WithAllNodesAnnouncedTheJobWaitsForAnother) {
  world_.AddNode("node-2", 2);
  Train();
  world_.SetNotice("node-1", absl::Seconds(60));
  world_.SetNotice("node-2", absl::Seconds(60));
  world_.RunFor(absl::Minutes(2));
  EXPECT_FALSE(Training());
  world_.AddNode("node-3", 2);
  ASSERT_TRUE(world_.RunUntil([&] { return Moved(); }, absl::Minutes(1)));
  ExpectUnharmed();
}

TEST_F(NoticeTest, ALateNoticeIsSaidToBeLate) {
  Train();
  world_.SetNotice("node-1", -absl::Seconds(30));
  world_.AddNode("node-2", 2);
  ASSERT_TRUE(world_.RunUntil([&] { return Moved(); }, absl::Minutes(1)));
  EXPECT_EQ(Outcome(), "Missed");
  EXPECT_THAT(Status().workers().last_notice().message(), HasSubstr("after the deadline"));
  ExpectUnharmed();
}

TEST_F(NoticeLeaderTest, ANewLeaderKeepsTheDeadlineOfTheNotice) {
  world_.fleet->SetSaveTime(absl::Minutes(10));
  Train();
  world_.SetNotice("node-1", absl::Seconds(100));
  world_.AddNode("node-2", 2);
  world_.RunFor(absl::Seconds(5));
  ASSERT_EQ(Status().workers().leaving_size(), 2);
  const std::string deadline = Status().workers().leaving(0).deadline();
  const absl::Time noticed = world_.clock.Monotonic();
  world_.Kill(*world_.Leader(), absl::Hours(1));
  ASSERT_TRUE(world_.RunUntil([&] { return world_.Leader() != nullptr; }, absl::Seconds(30)));
  world_.RunFor(absl::Seconds(1));
  if (Status().workers().leaving_size() > 0) {
    EXPECT_EQ(Status().workers().leaving(0).deadline(), deadline);
  }
  ASSERT_TRUE(world_.RunUntil([&] { return Moved(); }, absl::Seconds(95)));
  EXPECT_LE(world_.clock.Monotonic() - noticed, absl::Seconds(95));
  EXPECT_EQ(Outcome(), "Kept");
  ExpectUnharmed();
}

}  // namespace
}  // namespace muster::control
