#include "operator/coordinator/stream/agent_bounds.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/agent_limits.h"

namespace muster::control {
namespace {

using testing::HasSubstr;
using v1alpha1::AgentMessage;
using v1alpha1::kMaxCount;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr JobBounds kJob = {.workers = 4, .ranks = 2};

std::string WhyNot(AgentMessage message) {
  const absl::Status status = Bound(kJob, message);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(AgentBoundsTest, AJobHasTheWorkersThatItMayGrowToAndThoseThatItHad) {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_workers()->set_count(3);
  spec.mutable_workers()->set_max(8);
  spec.mutable_workers()->set_spares(2);
  spec.mutable_workers()->set_gpus(4);
  EXPECT_EQ(BoundsOf(spec, 1), (JobBounds{.workers = 10, .ranks = 4}));
  EXPECT_EQ(BoundsOf(spec, 12), (JobBounds{.workers = 12, .ranks = 4}));
}

TEST(AgentBoundsTest, MorePositionsThanTheWorkerHasRanksAreRefused) {
  AgentMessage message;
  for (int i = 0; i < 20'000; ++i) message.mutable_ready()->add_ranks()->mutable_position();
  EXPECT_THAT(WhyNot(message), HasSubstr("ready.ranks: wants at most 2, and not 20000"));
  message.mutable_ready()->mutable_ranks()->DeleteSubrange(2, 19'998);
  EXPECT_EQ(WhyNot(message), "");
  message.mutable_ready()->mutable_ranks(1)->set_local_rank(2);
  EXPECT_THAT(WhyNot(message), HasSubstr("local_rank"));
}

TEST(AgentBoundsTest, ListsOfAPositionAreBounded) {
  AgentMessage message;
  v1alpha1::RankPosition& position = *message.mutable_ready()->add_ranks()->mutable_position();
  for (int i = 0; i < 5; ++i) position.add_copies();
  EXPECT_THAT(WhyNot(message), HasSubstr("copies"));
  position.clear_copies();
  for (int i = 0; i < 3; ++i) position.add_decisions();
  EXPECT_THAT(WhyNot(message), HasSubstr("decisions"));
  position.clear_decisions();
  for (int i = 0; i < 65; ++i) position.add_checkpoints();
  EXPECT_THAT(WhyNot(message), HasSubstr("checkpoints"));
}

TEST(AgentBoundsTest, StepsAttemptsAndRoundsBeyondAnyCountAreRefused) {
  for (const int64_t absurd : {kMost, kLeast, int64_t{-1}, kMaxCount + 1}) {
    AgentMessage steps;
    steps.mutable_steps()->add_steps()->mutable_version()->set_step(absurd);
    EXPECT_THAT(WhyNot(steps), HasSubstr("version.step"));
    AgentMessage round;
    round.mutable_joined()->mutable_round()->set_round(absurd);
    EXPECT_THAT(WhyNot(round), HasSubstr("round.round"));
    AgentMessage ready;
    ready.mutable_ready()->add_ranks()->mutable_position()->mutable_applied()->set_attempt(absurd);
    EXPECT_THAT(WhyNot(ready), HasSubstr("version.attempt"));
    AgentMessage saved;
    saved.mutable_checkpoint()->mutable_version()->set_step(absurd);
    EXPECT_THAT(WhyNot(saved), HasSubstr("version.step"));
    AgentMessage finished;
    finished.mutable_finished()->mutable_durable()->set_step(absurd);
    EXPECT_THAT(WhyNot(finished), HasSubstr("version.step"));
    v1alpha1::AgentHello hello;
    hello.mutable_active()->set_round(absurd);
    EXPECT_FALSE(CheckBounds(hello).ok());
  }
}

TEST(AgentBoundsTest, FiguresThatCannotBeAreBroughtIntoTheirRange) {
  AgentMessage message;
  v1alpha1::StepReport& step = *message.mutable_steps()->add_steps();
  step.set_loss(std::nan(""));
  step.set_tokens(kMost);
  step.set_finished_at_us(kLeast);
  step.set_total_steps(kLeast);
  step.mutable_times()->set_compute(1e308);
  step.mutable_times()->set_data(std::nan(""));
  step.mutable_times()->set_other(-std::numeric_limits<double>::infinity());
  step.set_mean_busy_seconds(std::numeric_limits<double>::infinity());
  ASSERT_TRUE(Bound(kJob, message).ok());
  EXPECT_TRUE(std::isnan(step.loss())) << "a run may diverge";
  EXPECT_EQ(step.tokens(), kMaxCount);
  EXPECT_EQ(step.finished_at_us(), 0);
  EXPECT_EQ(step.total_steps(), 0);
  EXPECT_EQ(step.times().compute(), 1e9);
  EXPECT_EQ(step.times().data(), 0);
  EXPECT_EQ(step.times().other(), 0);
  EXPECT_EQ(step.mean_busy_seconds(), 1e9);
}

TEST(AgentBoundsTest, SpikesAreCountedWithinBoundsAndTheirReasonsAreCut) {
  AgentMessage message;
  v1alpha1::StepReport& step = *message.mutable_steps()->add_steps();
  step.set_spikes_total(kLeast);
  step.set_spike(std::string(60'000, 'x'));
  ASSERT_TRUE(Bound(kJob, message).ok());
  EXPECT_EQ(step.spikes_total(), 0);
  EXPECT_EQ(step.spike().size(), v1alpha1::kMaxShortText);
}

v1alpha1::StepReport Tuned(int tunings, int64_t at, double rate) {
  v1alpha1::StepReport step;
  step.set_tunings(tunings);
  step.mutable_tuning()->set_step(at);
  step.mutable_tuning()->set_learning_rate(rate);
  return step;
}

TEST(AgentBoundsTest, TuningsThatNoRunCanHaveAreNotKnown) {
  const double infinity = std::numeric_limits<double>::infinity();
  AgentMessage good;
  *good.mutable_steps()->add_steps() = Tuned(64, 1, 1e-4);
  ASSERT_TRUE(Bound(kJob, good).ok());
  EXPECT_EQ(good.steps().steps(0).tunings(), 64);
  EXPECT_EQ(good.steps().steps(0).tuning().learning_rate(), 1e-4);
  v1alpha1::StepReport no_tuning;
  no_tuning.set_tunings(1);
  v1alpha1::StepReport clip = Tuned(1, 5, 1e-4);
  clip.mutable_tuning()->set_clip_norm(-infinity);
  for (const v1alpha1::StepReport& bad :
       {Tuned(65, 1, 1e-4), Tuned(-1, 1, 1e-4), Tuned(1, 0, 1e-4), Tuned(1, kMost, 1e-4),
        Tuned(1, 5, infinity), Tuned(1, 5, std::nan("")), Tuned(1, 5, -1), no_tuning, clip}) {
    AgentMessage message;
    *message.mutable_steps()->add_steps() = bad;
    ASSERT_TRUE(Bound(kJob, message).ok()) << bad.ShortDebugString();
    EXPECT_EQ(message.steps().steps(0).tunings(), 0) << bad.ShortDebugString();
    EXPECT_FALSE(message.steps().steps(0).has_tuning()) << bad.ShortDebugString();
  }
}

TEST(AgentBoundsTest, ADecisionThatNoVoteCanMakeIsRefused) {
  const auto why_not = [](const v1alpha1::StepDecision& decision) {
    AgentMessage message;
    *message.mutable_ready()->add_ranks()->mutable_position()->add_decisions() = decision;
    return WhyNot(message);
  };
  v1alpha1::StepDecision decision;
  decision.set_rate_factor(0.25);
  decision.set_spikes_in_row(2);
  decision.set_spikes_total(3);
  decision.mutable_tuning()->set_step(7);
  EXPECT_EQ(why_not(decision), "");
  v1alpha1::StepDecision bad = decision;
  bad.set_rate_factor(std::nan(""));
  EXPECT_THAT(why_not(bad), HasSubstr("decision.rate_factor"));
  bad = decision;
  bad.set_spikes_in_row(-1);
  EXPECT_THAT(why_not(bad), HasSubstr("decision.spikes_in_row"));
  bad = decision;
  bad.set_spikes_total(kMost);
  EXPECT_THAT(why_not(bad), HasSubstr("decision.spikes_total"));
  bad = decision;
  bad.mutable_tuning()->set_clip_norm(std::numeric_limits<double>::infinity());
  EXPECT_THAT(why_not(bad), HasSubstr("decision.tuning"));
}

TEST(AgentBoundsTest, ASlowestRankThatTheJobDoesNotHaveIsNoneAtAll) {
  for (const int rank : {8, 1'500'000, -1}) {
    AgentMessage message;
    v1alpha1::StepReport& step = *message.mutable_steps()->add_steps();
    step.set_slowest_rank(rank);
    step.set_mean_busy_seconds(1);
    ASSERT_TRUE(Bound(kJob, message).ok());
    EXPECT_EQ(step.mean_busy_seconds(), 0) << "ranks that do not say how long they were busy";
  }
}

TEST(AgentBoundsTest, TextsAreCutAndNamesThatAreTooLongAreRefused) {
  const std::string long_text(60'000, 'x');
  AgentMessage message;
  message.mutable_joined()->set_error(long_text);
  ASSERT_TRUE(Bound(kJob, message).ok());
  EXPECT_EQ(message.joined().error().size(), v1alpha1::kMaxText);
  message.mutable_joined()->set_bad_checkpoint(long_text);
  EXPECT_THAT(WhyNot(message), HasSubstr("joined.bad_checkpoint"));
  message.mutable_stalled()->set_error(long_text);
  ASSERT_TRUE(Bound(kJob, message).ok());
  EXPECT_EQ(message.stalled().error().size(), v1alpha1::kMaxText);
  message.mutable_finished()->set_message(long_text);
  ASSERT_TRUE(Bound(kJob, message).ok());
  EXPECT_EQ(message.finished().message().size(), v1alpha1::kMaxText);
  message.mutable_checkpoint()->set_directory(long_text);
  EXPECT_THAT(WhyNot(message), HasSubstr("checkpoint.directory"));
  message.mutable_replicas()->set_endpoint(long_text);
  EXPECT_THAT(WhyNot(message), HasSubstr("replicas.endpoint"));
}

TEST(AgentBoundsTest, LinksAndExitsOfRanksThatNoJobHasAreRefused) {
  AgentMessage message;
  v1alpha1::LinkSpeed& link = *message.mutable_joined()->add_links();
  link.set_bytes_per_second(std::nan(""));
  EXPECT_THAT(WhyNot(message), HasSubstr("bytes_per_second"));
  link.set_bytes_per_second(1e9);
  EXPECT_EQ(WhyNot(message), "");
  link.set_peer(-7);
  EXPECT_THAT(WhyNot(message), HasSubstr("joined.links.peer"));
  message.mutable_rank_exited()->set_rank(std::numeric_limits<int32_t>::min());
  EXPECT_THAT(WhyNot(message), HasSubstr("rank_exited.rank"));
}

TEST(AgentBoundsTest, AHelloOfRanksThatNoWorkerHasIsRefused) {
  v1alpha1::AgentHello hello;
  hello.set_ranks(64);
  EXPECT_TRUE(CheckBounds(hello).ok());
  hello.set_ranks(65);
  EXPECT_FALSE(CheckBounds(hello).ok());
  hello.set_ranks(8);
  hello.set_first_rank(std::numeric_limits<int32_t>::max());
  EXPECT_FALSE(CheckBounds(hello).ok());
}

}  // namespace
}  // namespace muster::control
