#include "operator/core/failure.h"

#include <string>

#include "base/exit_codes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/test_world.h"

namespace muster::control {
namespace {

using ::testing::SizeIs;

ExitReport Exit(const TestWorld& world, int code) {
  ExitReport exit;
  exit.round = world.memory.id;
  exit.exit_code = code;
  exit.signal = code > 128 ? code - 128 : 0;
  exit.restarted = true;
  exit.reason = "Exited";
  exit.log_tail = "Traceback";
  return exit;
}

TEST(BackoffTest, DoublesUpToTheCap) {
  const DecideOptions options;
  EXPECT_EQ(Backoff(0, options), absl::ZeroDuration());
  EXPECT_EQ(Backoff(1, options), absl::Seconds(1));
  EXPECT_EQ(Backoff(4, options), absl::Seconds(8));
  EXPECT_EQ(Backoff(1000, options), absl::Minutes(1));
}

TEST(FailureTest, ManyExitsOfOneRoundAreOneFailure) {
  TestWorld world(2);
  world.MakeActive();
  world.view.agents[0].exits.push_back(Exit(world, 1));
  world.view.agents[1].exits.push_back(Exit(world, 1));
  const Plan plan = world.Decide();
  EXPECT_EQ(plan.status.failures().count(), 1);
  EXPECT_THAT(plan.status.failures().times(), SizeIs(1));
  EXPECT_EQ(plan.status.failures().evidence(),
            "rank 0 of worker 0 ended with exit code 1 (Exited)\nTraceback");
  EXPECT_EQ(world.Decide().status.failures().count(), 1) << "shown again it counts no more";
}

TEST(FailureTest, EvidenceKeepsTheEndOfTheLog) {
  TestWorld world(1);
  world.MakeActive();
  world.view.agents[0].exits.push_back(Exit(world, 1));
  world.view.agents[0].exits[0].log_tail = std::string(20'000, 'x') + "the end";
  const std::string evidence = world.Decide().status.failures().evidence();
  EXPECT_EQ(evidence.size(), 8u << 10);
  EXPECT_THAT(evidence, testing::EndsWith("the end"));
}

TEST(FailureTest, OnlyTheWindowCounts) {
  TestWorld world(1);
  world.view.spec.mutable_failure_policy()->set_max_failures(1);
  world.view.spec.mutable_failure_policy()->set_window("10m");
  world.MakeActive();
  world.view.status.mutable_failures()->set_count(1);
  world.view.status.mutable_failures()->add_times("2023-11-14T22:00:00.000Z");  // 13 min ago
  world.view.agents[0].exits.push_back(Exit(world, 1));
  Plan plan = world.Decide();
  EXPECT_EQ(plan.status.failures().count(), 2);
  EXPECT_THAT(plan.status.failures().times(), SizeIs(1));
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "");
}

TEST(FailureTest, OneTooManyEndsTheJobAndStopsItsWorkers) {
  TestWorld world(2);
  world.view.spec.mutable_failure_policy()->set_max_failures(0);
  world.MakeActive();
  world.view.agents[1].exits.push_back(Exit(world, 137));
  const Plan plan = world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kFailed), "True/TooManyFailures");
  EXPECT_EQ(Ordered(plan), "Stop:0 Stop:1");
  EXPECT_EQ(plan.status.state(), "Failed");
  EXPECT_TRUE(plan.status.has_completion_time());
}

TEST(FailureTest, BadInputOfTheTrainerIsFinalAndOfACommandIsNot) {
  for (bool built_in : {true, false}) {
    TestWorld world(1);
    if (!built_in) world.view.spec.clear_trainer();
    world.MakeActive();
    world.view.agents[0].exits.push_back(Exit(world, kExitBadInput));
    world.Decide();
    EXPECT_EQ(world.Condition(ConditionType::kFailed), built_in ? "True/BadInput" : "");
    EXPECT_EQ(world.view.status.failures().count(), 1);
  }
}

TEST(FailureTest, WhichPodsCount) {
  const auto count = [](int code, const std::string& reason) {
    TestWorld world(1);
    PodView& pod = world.AddPod(0, PodPhase::kFailed);
    pod.exit_code = code;
    pod.reason = reason;
    return world.Decide().status.failures().count();
  };
  EXPECT_EQ(count(kExitFailed, "Error"), 1);
  EXPECT_EQ(count(137, "OOMKilled"), 1);
  EXPECT_EQ(count(137, "NodeLost"), 0);
  EXPECT_EQ(count(143, "Evicted"), 0);
  EXPECT_EQ(count(kExitRefused, "Error"), 0);
  EXPECT_EQ(count(kExitOrphaned, "Error"), 0);
}

TEST(FailureTest, ARefusedProgramIsNoFailure) {
  TestWorld world(1);
  world.MakeActive();
  world.view.agents[0].exits.push_back(Exit(world, kExitRefused));
  EXPECT_EQ(world.Decide().status.failures().count(), 0);
}

}  // namespace
}  // namespace muster::control
