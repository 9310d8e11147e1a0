#include "operator/alerts/job_alerts.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

// A running job with rules, as the operator sees it.
struct World {
  v1alpha1::AlertRule& Rule(const std::string& name, const std::string& kind) {
    v1alpha1::AlertRule& rule = *rules.Add();
    rule.set_name(name);
    rule.set_kind(kind);
    return rule;
  }
  void Spike() { Rule("spike", "LossSpike").mutable_loss_spike()->set_factor(2); }
  void Stall() { Rule("stall", "Stalled").mutable_stalled()->set_for_("10m"); }
  // Reports the steps from..to with the loss; a new round takes back what it repeats.
  void Steps(int64_t from, int64_t to, double loss) {
    std::erase_if(history.steps, [&](const TrainedStep& step) { return step.step >= from; });
    for (int64_t i = from; i <= to; ++i) history.steps.push_back({i, loss, 1000, i * 1'000'000});
  }
  void NewRound(int64_t first_step) {
    ++history.round;
    history.first_step = first_step;
    std::erase_if(history.steps, [&](const TrainedStep& step) { return step.step >= first_step; });
  }
  // Returns the edges as "+spike -stall", and keeps what fires as the status does.
  std::string Look() {
    const AlertEvaluation found =
        EvaluateAlerts(rules, firing, {now, running_since, ended, history, ends}, memory);
    due = found.due;
    std::string edges;
    for (const AlertEdge& edge : found.edges) {
      absl::StrAppend(&edges, edges.empty() ? "" : " ", edge.fires ? "+" : "-", edge.name);
      sentence = edge.sentence;
      for (int i = firing.size() - 1; i >= 0; --i) {
        if (firing[i].name() == edge.name) firing.DeleteSubrange(i, 1);
      }
      if (!edge.fires) continue;
      firing.Add()->set_name(edge.name);
      firing[firing.size() - 1].set_kind(edge.kind);
    }
    return edges;
  }

  google::protobuf::RepeatedPtrField<v1alpha1::AlertRule> rules;
  google::protobuf::RepeatedPtrField<v1alpha1::AlertStatus> firing;
  TrainingHistory history{
      .round = 1, .first_step = 1, .steps = {}, .validations = {}, .best_before = {}};
  AlertMemory memory;
  bool ends = false;
  absl::Time now = kStart;
  absl::Time running_since = kStart;
  absl::Time due;
  bool ended = false;
  std::string sentence;
};

TEST(JobAlertsTest, EachStepIsLookedAtOnce) {
  World world;
  world.Spike();
  world.Steps(1, 100, 2);
  EXPECT_EQ(world.Look(), "");
  world.Steps(101, 101, 9);
  EXPECT_EQ(world.Look(), "+spike");
  for (int i = 0; i < 30; ++i) EXPECT_EQ(world.Look(), "") << "nothing was reported";
  world.Steps(102, 121, 2);
  EXPECT_EQ(world.Look(), "-spike");
}

TEST(JobAlertsTest, AJobThatResumesFromAnOlderStepDoesNotMisfire) {
  World world;
  world.Spike();
  world.Steps(1, 400, 2);
  EXPECT_EQ(world.Look(), "");
  world.NewRound(101);
  EXPECT_EQ(world.Look(), "") << "no step of the new round is known yet";
  world.Steps(101, 150, 3.5);
  EXPECT_EQ(world.Look(), "");
  world.Steps(151, 151, 9);
  EXPECT_EQ(world.Look(), "+spike") << "although step 400 was seen before";
}

TEST(JobAlertsTest, ANewLeaderNeitherForgetsNorRepeatsAnAlert) {
  World world;
  world.Spike();
  world.Stall();
  world.Steps(1, 100, 2);
  world.Steps(101, 101, 9);
  EXPECT_EQ(world.Look(), "+spike");
  world.now += absl::Minutes(20);
  EXPECT_EQ(world.Look(), "+stall");
  world.memory = {};
  world.history = {};
  EXPECT_EQ(world.Look(), "");
  world.now += absl::Hours(1);
  EXPECT_EQ(world.Look(), "");
  world.history.round = 1;
  world.history.first_step = 102;
  world.Steps(102, 121, 2);
  EXPECT_EQ(world.Look(), "-spike -stall");
}

TEST(JobAlertsTest, ANewLeaderGivesAStalledJobItsWholeTime) {
  World world;
  world.Stall();
  world.running_since = kStart - absl::Hours(3);
  EXPECT_EQ(world.Look(), "");
  EXPECT_EQ(world.due, kStart + absl::Minutes(10));
  world.now = world.due;
  EXPECT_EQ(world.Look(), "+stall");
}

TEST(JobAlertsTest, WhatFiresKeepsFiringWhileTheJobIsSuspended) {
  World world;
  world.Stall();
  world.Look();
  world.now += absl::Minutes(10);
  EXPECT_EQ(world.Look(), "+stall");
  world.running_since = absl::InfiniteFuture();
  world.now += absl::Hours(10);
  EXPECT_EQ(world.Look(), "");
  world.running_since = world.now;
  world.NewRound(1);
  EXPECT_EQ(world.Look(), "");
  world.Steps(1, 1, 2);
  EXPECT_EQ(world.Look(), "-stall");
}

TEST(JobAlertsTest, ARuleThatIsTakenAwayOrChangedCeasesToFire) {
  World world;
  world.Stall();
  world.Look();
  world.now += absl::Minutes(10);
  ASSERT_EQ(world.Look(), "+stall");
  world.rules[0].clear_stalled();
  world.rules[0].set_kind("LossSpike");
  world.rules[0].mutable_loss_spike()->set_factor(2);
  EXPECT_EQ(world.Look(), "-stall");
  EXPECT_EQ(world.sentence, "the rule is no longer in the spec");
  world.rules.Clear();
  EXPECT_EQ(world.Look(), "");
  EXPECT_TRUE(world.memory.rules.empty());
}

TEST(JobAlertsTest, TheEndOfTheJobEndsItsAlerts) {
  World world;
  world.Stall();
  world.Look();
  world.now += absl::Minutes(10);
  ASSERT_EQ(world.Look(), "+stall");
  world.ended = true;
  EXPECT_EQ(world.Look(), "-stall");
  EXPECT_EQ(world.sentence, "the job has ended");
  world.now += absl::Hours(1);
  EXPECT_EQ(world.Look(), "");
}

TEST(JobAlertsTest, TheLastReportsOfAJobThatEndsAreLookedAt) {
  World world;
  world.Spike();
  world.Stall();
  world.Steps(1, 100, 2);
  EXPECT_EQ(world.Look(), "");
  world.Steps(101, 110, 9);
  world.running_since = absl::InfiniteFuture();
  world.ended = world.ends = true;
  EXPECT_EQ(world.Look(), "+spike");
  world.ends = false;
  EXPECT_EQ(world.Look(), "-spike");
  EXPECT_EQ(world.Look(), "");
}

TEST(JobAlertsTest, ARuleThatFiresWhenTheJobEndsCeasesOnce) {
  World world;
  world.Spike();
  world.Steps(1, 100, 2);
  world.Steps(101, 101, 9);
  ASSERT_EQ(world.Look(), "+spike");
  world.Steps(102, 130, 2);
  world.ended = world.ends = true;
  EXPECT_EQ(world.Look(), "-spike");
}

TEST(JobAlertsTest, EveryKindHasItsParametersFromTheSpec) {
  World world;
  world.Rule("flat", "LossNotFalling").mutable_loss_not_falling()->set_evaluations(3);
  auto& drop = *world.Rule("slow", "ThroughputDrop").mutable_throughput_drop();
  drop.set_factor(0.5);
  drop.set_for_("1m");
  for (int i = 1; i <= 4; ++i) world.history.validations.push_back({i, 2.0});
  EXPECT_EQ(world.Look(), "+flat");
  world.Steps(1, 121, 2);
  EXPECT_EQ(world.Look(), "");
  for (int i = 0; i < 20; ++i) {
    world.history.steps.push_back({122 + i, 2.0, 1000, (121 + (i + 1) * 4) * 1'000'000});
  }
  EXPECT_EQ(world.Look(), "+slow");
}

}  // namespace
}  // namespace muster::control
