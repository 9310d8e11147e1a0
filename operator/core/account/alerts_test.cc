#include "operator/core/account/alerts.h"

#include <limits>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/command_world.h"
#include "operator/core/testing/test_world.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1alpha1::AlertRule& AddRule(TestWorld& world, const std::string& name, const std::string& kind) {
  v1alpha1::AlertRule& rule = *world.view.spec.add_alerts();
  rule.set_name(name);
  rule.set_kind(kind);
  rule.set_action("Notify");
  return rule;
}

// A job of two workers that runs and is looked after by a rule that fires after 10 minutes without
// a step.
TestWorld WorldWithStallRule() {
  TestWorld world(2);
  AddRule(world, "stall", "Stalled").mutable_stalled()->set_for_("10m");
  world.MakeActive();
  return world;
}

void ReportStep(TestWorld& world, int64_t step) {
  world.view.history.round = world.memory.id.round;
  world.view.history.first_step = 1;
  world.view.history.steps.push_back({step, 2.0, 1000, step * 1'000'000});
}

std::string Message(const TestWorld& world) {
  const auto* condition = FindCondition(world.view.status, ConditionType::kAlertFiring);
  return condition == nullptr ? "" : condition->message();
}

// Stops the pods of a job that is being suspended, and lets the user resume it.
void SuspendAndResume(TestWorld& world) {
  world.view.spec.set_suspend(true);
  world.Decide();
  world.view.pods.clear();
  world.view.agents.clear();
  world.Decide();
  ASSERT_EQ(world.Condition(ConditionType::kSuspended), "True/WorkersStopped");
  world.view.spec.set_suspend(false);
  world.Decide();
  world.MakeActive();
}

TEST(AlertsTest, AnAlertIsInTheStatusTheConditionAndAnEventUntilItIsOver) {
  TestWorld world = WorldWithStallRule();
  EXPECT_EQ(world.Condition(ConditionType::kAlertFiring), "") << "nothing ever fired";
  world.Advance(absl::Minutes(10));
  const Plan fired = world.Decide();
  EXPECT_TRUE(fired.write_status);
  EXPECT_EQ(EventReasons(fired), "Stalled");
  EXPECT_EQ(fired.events[0].type, Event::Type::kWarning);
  EXPECT_FALSE(fired.suspend);
  EXPECT_EQ(world.Condition(ConditionType::kAlertFiring), "True/Stalled");
  EXPECT_EQ(Message(world), "stall: no step was reported for 10m");
  ASSERT_EQ(world.view.status.alerts_size(), 1);
  EXPECT_EQ(world.view.status.alerts(0).since(), FormatWall(world.view.wall));

  world.Advance(absl::Minutes(10));
  const Plan quiet = world.Decide();
  EXPECT_THAT(quiet.events, IsEmpty());
  EXPECT_FALSE(quiet.write_status) << "the message keeps the figures of the beginning";

  ReportStep(world, 1);
  EXPECT_EQ(EventReasons(world.Decide()), "AlertResolved");
  EXPECT_EQ(world.Condition(ConditionType::kAlertFiring), "False/NoAlert");
  EXPECT_EQ(world.view.status.alerts_size(), 0);
}

TEST(AlertsTest, ARunningJobIsLookedAtOftenEnough) {
  TestWorld world = WorldWithStallRule();
  const Plan plan = world.Decide();
  ASSERT_TRUE(plan.requeue_after.has_value());
  EXPECT_LE(*plan.requeue_after, world.options.alert_interval);
  world.Advance(absl::Minutes(10) - absl::Seconds(3));
  EXPECT_EQ(world.Decide().requeue_after, absl::Seconds(3)) << "when the rule would fire";
}

TEST(AlertsTest, ASuspensionHappensOnceUntilTheRuleHasCeasedToFire) {
  TestWorld world = WorldWithStallRule();
  world.view.spec.mutable_alerts(0)->set_action("Suspend");
  world.Advance(absl::Minutes(10));
  const Plan fired = world.Decide();
  EXPECT_TRUE(fired.suspend);
  EXPECT_EQ(EventReasons(fired), "Stalled SuspendedByAlert");
  EXPECT_THAT(fired.events[1].message, HasSubstr("alert stall suspends the job: no step"));

  SuspendAndResume(world);
  world.Advance(absl::Hours(2));
  EXPECT_FALSE(world.Decide().suspend) << "the user resumed it although the rule still fires";
  ReportStep(world, 1);
  EXPECT_EQ(EventReasons(world.Decide()), "AlertResolved");
  world.Advance(absl::Minutes(10));
  EXPECT_TRUE(world.Decide().suspend);
}

TEST(AlertsTest, ASuspensionWhoseStatusWasNotWrittenIsSafeToRepeat) {
  TestWorld world = WorldWithStallRule();
  world.view.spec.mutable_alerts(0)->set_action("Suspend");
  world.Advance(absl::Minutes(10));
  const JobView before = world.view;
  const RoundMemory memory = world.memory;
  EXPECT_TRUE(world.Decide().suspend);
  world.view = before;
  world.memory = memory;
  EXPECT_TRUE(world.Decide().suspend);
  world.view = before;
  world.memory = memory;
  world.view.spec.set_suspend(true);
  EXPECT_FALSE(world.Decide().suspend) << "it is suspended already";
}

TEST(AlertsTest, AReceiverThatNobodyNamedIsReportedAndTheRuleWorksNevertheless) {
  TestWorld world = WorldWithStallRule();
  world.view.spec.mutable_alerts(0)->set_receiver("pager");
  world.options.alert_receivers = {"mail", "chat"};
  world.Advance(absl::Minutes(10));
  const Plan fired = world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kAlertFiring), "True/Stalled");
  EXPECT_THAT(Message(world), HasSubstr("no receiver is named pager, only mail, chat"));
  EXPECT_THAT(fired.events[0].message, HasSubstr("no receiver is named pager, only mail, chat"));
}

TEST(AlertsTest, AnAlertOutlivesItsLeaderAndEndsWithItsJob) {
  TestWorld world = WorldWithStallRule();
  world.Advance(absl::Minutes(10));
  world.Decide();
  for (AgentView& agent : world.view.agents) agent.active = agent.seen = world.memory.id;
  world.memory = RoundMemory{};
  ++world.view.leader_term;
  world.view.leading_since = world.view.now;
  EXPECT_EQ(EventReasons(world.Decide()), "RoundAdopted") << "and no alert";
  EXPECT_EQ(world.Condition(ConditionType::kAlertFiring), "True/Stalled");

  SetCondition(world.view.status, ConditionType::kFailed, true, Reason::kBadInput, "",
               world.view.wall, 1);
  const Plan over = world.Decide();
  EXPECT_EQ(EventReasons(over), "AlertResolved");
  EXPECT_THAT(over.events[0].message, HasSubstr("the job has ended"));
  EXPECT_EQ(world.Condition(ConditionType::kAlertFiring), "False/NoAlert");
  EXPECT_THAT(world.Decide().events, IsEmpty());
}

TEST(AlertsTest, ARunThatDivergesAndEndsBeforeTheNextLookHasItsWarning) {
  CommandWorld world(1);
  AddRule(world, "spike", "LossSpike").mutable_loss_spike()->set_factor(2);
  world.view.spec.mutable_alerts(0)->set_action("Suspend");
  world.MakeActive();
  world.Decide();
  world.view.history.round = world.memory.id.round;
  world.view.history.first_step = 1;
  for (int step = 1; step <= 9; ++step) {
    const double loss = step < 9 ? 2.0 : std::numeric_limits<double>::quiet_NaN();
    world.view.history.steps.push_back({step, loss, 1000, step * 1'000'000});
  }
  world.EndCommand(0);
  const Plan over = world.Decide();
  ASSERT_EQ(world.Condition(ConditionType::kSucceeded), "True/TrainingFinished");
  EXPECT_THAT(EventReasons(over), HasSubstr("LossSpike"));
  EXPECT_FALSE(over.suspend) << "nothing is left to be stopped";
  EXPECT_EQ(world.view.status.alerts_size(), 0);
  EXPECT_THAT(EventReasons(world.Decide()), Not(HasSubstr("LossSpike"))) << "it is told once";
}

TEST(AlertsTest, AJobThatIsNotRunningIsNotStalled) {
  TestWorld world(2);
  AddRule(world, "stall", "Stalled").mutable_stalled()->set_for_("10m");
  world.AddWorkers();
  world.Decide();
  world.Advance(absl::Hours(5));
  world.Decide();
  EXPECT_EQ(world.Condition(ConditionType::kAlertFiring), "");
}

}  // namespace
}  // namespace muster::control
