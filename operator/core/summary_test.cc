#include "operator/core/summary.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPullFailed[] = "Back-off pulling image \"example.com/gpt:2\": not found";

TestWorld WorldThatWaits(const std::string& reason, const std::string& message = "") {
  TestWorld world(2);
  world.AddPod(0);
  world.AddAgent(0);
  PodView& pod = world.AddPod(1, PodPhase::kPending);
  pod.node = "n1";
  pod.waiting = {{"agent", "PodInitializing", ""}, {"worker", reason, message}};
  return world;
}

std::string Message(const TestWorld& world, ConditionType type) {
  const auto* condition = FindCondition(world.view.status, type);
  return condition == nullptr ? "" : condition->message();
}

TEST(StartupTest, AJobThatWaitsForItsFirstTurnIsQueuedAndNotStarting) {
  TestWorld world(2);
  for (const int worker : {0, 1}) world.AddPod(worker, PodPhase::kPending).node = "";
  world.view.placement.reason = "QueueFull";
  world.view.placement.queued = true;
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kScheduled), "False/Queued");
  EXPECT_EQ(world.view.status.state(), "Queued");
  world.view.placement = {};
  for (PodView& pod : world.view.pods) pod.node = "n1";
  world.Decide();
  EXPECT_EQ(world.view.status.state(), "Starting");
}

TEST(StartupTest, AnImageThatCannotBePulledIsNamedAtOnceAndWarnedOfOnce) {
  TestWorld world = WorldThatWaits("ImagePullBackOff", kPullFailed);
  const Plan first = world.Decide();
  EXPECT_TRUE(first.write_status);
  EXPECT_THAT(EventReasons(first), HasSubstr("PodNotStarting"));
  EXPECT_EQ(world.Condition(ConditionType::kRunning), "False/PodNotStarting");
  EXPECT_EQ(Message(world, ConditionType::kRunning),
            "pod job-1-1 does not start on node n1: container worker: ImagePullBackOff: Back-off "
            "pulling image \"example.com/gpt:2\": not found");
  world.Advance(absl::Minutes(10));
  const Plan later = world.Decide();
  EXPECT_THAT(EventReasons(later), Not(HasSubstr("PodNotStarting")));
}

TEST(StartupTest, KubeletsTwoNamesOfOneFailureAreOneEvent) {
  TestWorld world = WorldThatWaits("ErrImagePull", "not found");
  world.Decide();
  world.view.pods[1].waiting[1].reason = "ImagePullBackOff";
  EXPECT_EQ(EventReasons(world.Decide()), "");
}

TEST(StartupTest, AnInitContainerBlocksItsPodToo) {
  TestWorld world = WorldThatWaits("PodInitializing");
  world.view.pods[1].waiting[0] = {"agent", "CreateContainerConfigError", "secret \"s\" not found"};
  world.Decide();
  EXPECT_THAT(Message(world, ConditionType::kRunning),
              EndsWith("container agent: CreateContainerConfigError: secret \"s\" not found"));
}

TEST(StartupTest, AContainerThatIsBeingCreatedBlocksNothing) {
  TestWorld world = WorldThatWaits("ContainerCreating");
  world.Advance(absl::Minutes(10));
  world.Decide();
  EXPECT_THAT(world.Condition(ConditionType::kRunning), Not(HasSubstr("PodNotStarting")));
}

TEST(StartupTest, OnceThePodStartsTheConditionMovesOn) {
  TestWorld world = WorldThatWaits("ImagePullBackOff", kPullFailed);
  world.Decide();
  world.view.pods[1].waiting.clear();
  world.view.pods[1].phase = PodPhase::kRunning;
  world.AddAgent(1);
  world.Decide();
  world.Decide();
  EXPECT_THAT(world.Condition(ConditionType::kRunning), Not(HasSubstr("PodNotStarting")));
}

TEST(StartupTest, AJobThatTrainsWithFewerWorkersSaysWhyOneIsMissing) {
  TestWorld world(2);
  world.MakeActive();
  world.memory.members.resize(1);
  PodView& pod = world.view.pods[1];
  pod.phase = PodPhase::kPending;
  pod.waiting = {{"worker", "ImagePullBackOff", kPullFailed}};
  Draft draft(world.view, world.memory, world.options);
  const auto blocked = DescribeBlockedPod(draft);
  ASSERT_TRUE(blocked.has_value());
  EXPECT_THAT(*blocked, HasSubstr("ImagePullBackOff"));
}

}  // namespace
}  // namespace muster::control
