#include "operator/core/round/tunings.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/plan.h"
#include "operator/core/testing/test_world.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void Ask(TestWorld& world, double rate, int64_t from_step = 0) {
  auto& tuning = *world.view.spec.mutable_trainer()->add_tunings();
  tuning.set_learning_rate(rate);
  tuning.set_by("anna");
  if (from_step > 0) tuning.set_from_step(from_step);
}

v1alpha1::Tuning Seen(int64_t step, double rate) {
  v1alpha1::Tuning tuning;
  tuning.set_step(step);
  if (step > 0) tuning.set_learning_rate(rate);
  return tuning;
}

// An Active job of two workers without changes.
TestWorld ActiveWorld() {
  TestWorld world;
  world.MakeActive();
  world.Decide();
  return world;
}

// Returns the steps in the order to each worker, "0:41,0".
std::vector<std::string> Told(const Plan& plan) {
  std::vector<std::string> told;
  for (const Order& order : plan.orders) {
    const auto* tune = std::get_if<TuneOrder>(&order.what);
    if (tune == nullptr) continue;
    std::string text = absl::StrCat(order.index, ":");
    for (const v1alpha1::Tuning& tuning : *tune->tunings) {
      absl::StrAppend(&text, text.back() == ':' ? "" : ",", tuning.step());
    }
    told.push_back(text);
  }
  return told;
}

TEST(TunedStepsOfARoundTest, TheOrderCarriesWhatIsKnown) {
  TestWorld world;
  Ask(world, 1e-4);
  Ask(world, 2e-4, 900);
  world.view.status.add_tunings()->set_step(41);
  world.AddWorkers();
  const Plan plan = world.Decide();
  ASSERT_EQ(OrderTexts(plan), "Prepare:0 Prepare:1");
  const auto& spec = *std::get<PrepareOrder>(plan.orders[0].what).spec;
  ASSERT_EQ(spec.trainer().tunings_size(), 2);
  EXPECT_EQ(spec.trainer().tunings(0).from_step(), 41);
  EXPECT_EQ(spec.trainer().tunings(1).from_step(), 900);
}

TEST(TellTuningsTest, AJobWithoutChangesIsToldNothing) {
  TestWorld world = ActiveWorld();
  EXPECT_THAT(world.Decide().orders, IsEmpty());
}

TEST(TellTuningsTest, ANewChangeIsSentToEveryMemberOnceAndOpensNoRound) {
  TestWorld world = ActiveWorld();
  const int64_t round = world.memory.id.round;
  Ask(world, 1e-4);
  const Plan plan = world.Decide();
  EXPECT_EQ(OrderTexts(plan), "Tune:0 Tune:1");
  EXPECT_THAT(Told(plan), ElementsAre("0:0", "1:0"));
  EXPECT_EQ(plan.reason, "Tuned");
  EXPECT_EQ(plan.sentence, "2 workers of round 1 are told of 1 tunings");
  EXPECT_THAT(world.Decide().orders, IsEmpty());
  Ask(world, 2e-4, 900);
  EXPECT_THAT(Told(world.Decide()), ElementsAre("0:0,900", "1:0,900"));
  EXPECT_EQ(world.memory.id.round, round);
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
}

TEST(TellTuningsTest, AStepThatBecomesKnownIsSentToo) {
  TestWorld world = ActiveWorld();
  Ask(world, 1e-4);
  world.Decide();
  world.view.progress.tunings = {Seen(12, 1e-4)};
  EXPECT_THAT(Told(world.Decide()), ElementsAre("0:12", "1:12"));
  EXPECT_THAT(Told(world.Decide()), IsEmpty());
}

TEST(TellTuningsTest, MembersHaveTheChangesOfTheirRoundsSpecAlready) {
  TestWorld world;
  Ask(world, 1e-4, 30);
  world.MakeActive();
  EXPECT_THAT(Told(world.Decide()), IsEmpty());
  ++world.view.agents[1].session;
  world.view.agents[1].active = world.memory.id;
  EXPECT_THAT(Told(world.Decide()), IsEmpty());
}

TEST(TellTuningsTest, ANewStreamOfAMemberIsToldAgain) {
  TestWorld world = ActiveWorld();
  Ask(world, 1e-4);
  world.Decide();
  world.view.agents[1].attached = false;
  EXPECT_THAT(Told(world.Decide()), IsEmpty());
  world.view.agents[1].attached = true;
  ++world.view.agents[1].session;
  world.view.agents[1].active = world.memory.id;  // as its new hello says
  EXPECT_THAT(Told(world.Decide()), ElementsAre("1:0"));
  EXPECT_THAT(Told(world.Decide()), IsEmpty());
}

TEST(TellTuningsTest, AChangeThatIsTakenBackIsSentToo) {
  TestWorld world = ActiveWorld();
  Ask(world, 1e-4, 900);
  world.Decide();
  world.view.spec.mutable_trainer()->clear_tunings();
  EXPECT_THAT(Told(world.Decide()), ElementsAre("0:", "1:"));
  EXPECT_THAT(Told(world.Decide()), IsEmpty());
}

TEST(TellTuningsTest, ANewLeaderTellsTheAdoptedRoundOnceAndRecordsNothingTwice) {
  TestWorld world = ActiveWorld();
  Ask(world, 1e-4);
  world.view.progress.tunings = {Seen(12, 1e-4)};
  world.Decide();
  ASSERT_EQ(world.view.status.tunings_size(), 1);
  for (AgentView& agent : world.view.agents) agent.active = agent.seen = world.memory.id;
  world.memory = RoundMemory{};
  ++world.view.leader_term;
  world.view.leading_since = world.view.now;
  world.view.progress = {};
  world.Advance(absl::Seconds(1));
  const Plan plan = world.Decide();
  EXPECT_EQ(world.memory.phase, RoundPhase::kActive);
  EXPECT_THAT(Told(plan), ElementsAre("0:12", "1:12"));
  world.view.progress.tunings = {Seen(12, 1e-4)};  // as ranks say with every step
  EXPECT_THAT(Told(world.Decide()), IsEmpty());
  EXPECT_EQ(world.view.status.tunings_size(), 1);
}

TEST(TellTuningsTest, AWorkerThatIsNoMemberOfTheRoundIsToldNothing) {
  TestWorld world = ActiveWorld();
  ++world.view.agents[1].incarnation;
  world.view.status.set_incarnations(1, 2);
  Ask(world, 1e-4);
  for (const std::string& told : Told(world.Decide())) EXPECT_NE(told[0], '1');
}

TEST(RecordTuningsTest, AChangeInForceIsRecordedOnceWithItsStepAndWhoAsked) {
  TestWorld world = ActiveWorld();
  Ask(world, 1e-4);
  world.Decide();
  world.view.progress.tunings = {Seen(12, 1e-4)};
  const Plan plan = world.Decide();
  EXPECT_TRUE(plan.write_status);
  ASSERT_EQ(plan.events.size(), 1u);
  EXPECT_EQ(plan.events[0].reason, "Tuned");
  EXPECT_EQ(plan.events[0].message, "learning rate 0.0001 from step 12 (asked by anna)");
  ASSERT_EQ(plan.status.tunings_size(), 1);
  const v1alpha1::TuningStatus& tuning = plan.status.tunings(0);
  EXPECT_EQ(tuning.step(), 12);
  EXPECT_EQ(tuning.learning_rate(), 1e-4);
  EXPECT_FALSE(tuning.has_clip_norm());
  EXPECT_EQ(tuning.by(), "anna");
  EXPECT_EQ(tuning.time(), FormatWall(world.view.wall));
  EXPECT_THAT(EventReasons(world.Decide()), IsEmpty());
  EXPECT_EQ(world.view.status.tunings_size(), 1);
}

TEST(RecordTuningsTest, TheReportCountsNotALaterEditOfTheSpec) {
  TestWorld world = ActiveWorld();
  Ask(world, 7e-4);
  world.view.progress.tunings = {Seen(12, 1e-4)};
  world.Decide();
  EXPECT_EQ(world.view.status.tunings(0).learning_rate(), 1e-4);
}

TEST(RecordTuningsTest, AChangeWithoutAReportHasTheLatestStepThatTheNextOneAllows) {
  TestWorld world = ActiveWorld();
  Ask(world, 1e-4);
  Ask(world, 2e-4);
  world.view.progress.tunings = {Seen(0, 0), Seen(15, 2e-4)};
  world.Decide();
  ASSERT_EQ(world.view.status.tunings_size(), 2);
  EXPECT_EQ(world.view.status.tunings(0).step(), 14);
  EXPECT_EQ(world.view.status.tunings(0).learning_rate(), 1e-4);
  EXPECT_EQ(world.view.status.tunings(1).step(), 15);
}

TEST(RecordTuningsTest, WhatTheSpecDoesNotAskForIsNotRecorded) {
  TestWorld world = ActiveWorld();
  Ask(world, 1e-4);
  world.view.progress.tunings = {Seen(12, 1e-4), Seen(13, 9)};
  world.Decide();
  EXPECT_EQ(world.view.status.tunings_size(), 1);
}

}  // namespace
}  // namespace muster::control
