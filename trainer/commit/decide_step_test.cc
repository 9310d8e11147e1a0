#include "trainer/commit/decide_step.h"

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/commit/loss_scale.h"
#include "trainer/commit/spike_watch.h"
#include "trainer/commit/step_messages.h"

namespace muster::trainer {
namespace {

v1alpha1::StepDecision Decide(const VoteTotals& totals, double clip_norm = 1.0) {
  v1alpha1::Version version;
  version.set_step(3);
  version.set_attempt(2);
  v1alpha1::RoundId round;
  round.set_term(4);
  round.set_round(5);
  return DecideStep(totals, {.nominal_tokens = 100, .clip_norm = clip_norm}, {}, version, round);
}

constexpr VoteTotals kGood = {.sum_of_squares = 1.0, .loss_sum = 10.0, .valid_tokens = 10.0};
constexpr VoteTotals kNotFinite = {.sum_of_squares = std::numeric_limits<double>::infinity(),
                                   .loss_sum = std::numeric_limits<double>::quiet_NaN(),
                                   .valid_tokens = 10.0};
constexpr VoteTotals kNoTokens = {};
constexpr StepRules kThreeInRowFiveInAll = {
    .nominal_tokens = 10, .max_skipped_in_row = 3, .max_skipped_total = 5};

// Returns the decisions of one run, step by step, until it ends.
std::vector<v1alpha1::StepDecision> DecideAll(const std::vector<VoteTotals>& votes,
                                              PastSteps before,
                                              const StepRules& rules = kThreeInRowFiveInAll) {
  std::vector<v1alpha1::StepDecision> decisions;
  for (const VoteTotals& totals : votes) {
    v1alpha1::Version version;
    version.set_step(static_cast<int64_t>(decisions.size()) + 1);
    decisions.push_back(DecideStep(totals, rules, before, version, {}));
    before = PastStepsAfter(decisions.back(), rules, before);
    if (decisions.back().too_many_skipped()) break;
  }
  return decisions;
}

TEST(DecideStepTest, MoreNonFiniteStepsInARowThanAllowedEndTheRun) {
  const auto run = DecideAll(std::vector(10, kNotFinite), {});
  ASSERT_EQ(run.size(), 4u);
  EXPECT_EQ(run.back().skipped_in_row(), 4);
  EXPECT_FALSE(run.back().apply());
  EXPECT_EQ(WhyTooManySkipped(run.back(), kThreeInRowFiveInAll),
            "4 steps in a row up to step 4 were skipped, the last one with loss nan and gradient "
            "norm inf: train.skippedSteps.maxInRow allows 3");
}

TEST(DecideStepTest, MoreNonFiniteStepsInTotalThanAllowedEndTheRun) {
  std::vector<VoteTotals> votes;
  for (int i = 0; i < 10; ++i) votes.insert(votes.end(), {kNotFinite, kGood});
  const auto run = DecideAll(votes, {});
  ASSERT_EQ(run.size(), 11u);
  EXPECT_EQ(run.back().skipped_in_row(), 1);
  EXPECT_EQ(run.back().skipped_total(), 6);
  EXPECT_EQ(WhyTooManySkipped(run.back(), kThreeInRowFiveInAll),
            "6 steps of the run up to step 11 were skipped, the last one with loss nan and "
            "gradient norm inf: train.skippedSteps.maxTotal allows 5");
}

TEST(DecideStepTest, EarlierSkippedStepsAreCounted) {
  EXPECT_EQ(DecideAll({kNotFinite, kGood}, {.skipped = {.in_row = 3, .total = 3}}).size(), 1u);
  const auto run = DecideAll({kGood, kNotFinite}, {.skipped = {.in_row = 3, .total = 3}});
  EXPECT_EQ(run.back().skipped_in_row(), 1);
  EXPECT_EQ(run.back().skipped_total(), 4);
}

TEST(DecideStepTest, StepsWithoutTokensNeitherCountAsSkippedNorEndARow) {
  EXPECT_EQ(DecideAll(std::vector(50, kNoTokens), {}).size(), 50u);
  const auto run = DecideAll({kNotFinite, kNotFinite, kNotFinite, kNoTokens, kNotFinite}, {});
  EXPECT_EQ(run[3].skipped_in_row(), 3);
  EXPECT_EQ(run[3].skipped_total(), 3);
  EXPECT_TRUE(run.back().too_many_skipped());
}

TEST(DecideStepTest, NormAndLossAreOfTheMeanOverValidTokens) {
  const auto decision =
      Decide({.sum_of_squares = 0.25, .loss_sum = 200.0, .valid_tokens = 50.0}, 2.0);
  EXPECT_TRUE(decision.apply());
  EXPECT_EQ(decision.loss(), 4.0);
  EXPECT_EQ(decision.gradient_norm(), 1.0);  // sqrt(0.25) * 100 / 50
  EXPECT_EQ(decision.clip_factor(), 1.0);
  EXPECT_EQ(decision.valid_tokens(), 50);
  EXPECT_EQ(decision.version().step(), 3);
  EXPECT_EQ(decision.term(), 4);
  EXPECT_EQ(decision.round(), 5);
}

TEST(DecideStepTest, ClipsAsTorchDoesAndNeverWithANormOfZero) {
  const VoteTotals totals{.sum_of_squares = 16.0, .loss_sum = 1.0, .valid_tokens = 100.0};
  EXPECT_EQ(Decide(totals).clip_factor(), 1.0 / (4.0 + 1e-6));
  EXPECT_EQ(Decide(totals, 0.0).clip_factor(), 1.0);
}

TEST(DecideStepTest, SkipsWithoutTokensAndWithoutFiniteNumbers) {
  EXPECT_EQ(Decide({}).skip_reason(), "no valid token in the global batch");
  EXPECT_FALSE(Decide({}).apply());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Decide({.sum_of_squares = nan, .valid_tokens = 1.0}).skip_reason(),
            "gradients or loss are not finite");
  EXPECT_FALSE(Decide({.loss_sum = nan, .valid_tokens = 1.0}).apply());
}

TEST(DecideStepTest, ARequestOfOneRankIsEnough) {
  EXPECT_TRUE(Decide({.valid_tokens = 1.0, .save_requests = 1.0}).save_after());
  EXPECT_FALSE(Decide({.valid_tokens = 1.0, .save_requests = 1.0}).stop_after());
  EXPECT_TRUE(Decide({.stop_requests = 2.0}).stop_after()) << "even if the step is skipped";
}

constexpr StepRules kScaled = {
    .nominal_tokens = 10, .scales_loss = true, .max_skipped_in_row = 3, .max_skipped_total = 5};

PastSteps AtScale(int64_t scale, int64_t good_steps = 0) {
  return {.loss_scale = {.scale = scale, .good_steps = good_steps}};
}

LossScale ScaleAfter(const v1alpha1::StepDecision& decision) {
  return PastStepsAfter(decision, {}, {}).loss_scale;
}

TEST(LossScaleTest, AnOverflowHalvesTheScaleAndIsNoSkippedStepWhileItCanFall) {
  const auto run = DecideAll(std::vector(30, kNotFinite), AtScale(8, 1999), kScaled);
  ASSERT_EQ(run.size(), 7u) << "three to reach 1, then three and one too many";
  EXPECT_EQ(ScaleAfter(run[0]), (LossScale{4, 0}));
  EXPECT_EQ(ScaleAfter(run[1]), (LossScale{2, 0}));
  EXPECT_EQ(ScaleAfter(run[2]), (LossScale{1, 0}));
  EXPECT_EQ(run[2].skipped_total(), 0);
  EXPECT_EQ(run[2].skip_reason(), "gradients or loss are not finite at a loss scale of 2");
  EXPECT_EQ(run[3].skipped_total(), 1) << "at a scale of 1 it counts";
  for (size_t i = 3; i < run.size(); ++i) EXPECT_EQ(ScaleAfter(run[i]), (LossScale{1, 0}));
  EXPECT_FALSE(run[5].too_many_skipped());
  EXPECT_TRUE(run[6].too_many_skipped());
  for (const auto& decision : run) EXPECT_FALSE(decision.apply());
}

TEST(LossScaleTest, TwoThousandGoodStepsInARowDoubleIt) {
  const auto run = DecideAll(std::vector(4001, kGood), AtScale(kFirstLossScale), kScaled);
  ASSERT_EQ(run.size(), 4001u);
  EXPECT_EQ(ScaleAfter(run[1998]), (LossScale{kFirstLossScale, 1999}));
  EXPECT_EQ(ScaleAfter(run[1999]), (LossScale{2 * kFirstLossScale, 0}));
  EXPECT_EQ(ScaleAfter(run[3999]), (LossScale{4 * kFirstLossScale, 0}));
  EXPECT_EQ(ScaleAfter(run[4000]), (LossScale{4 * kFirstLossScale, 1}));
}

TEST(LossScaleTest, ItStaysWithinItsBounds) {
  const auto most = DecideAll({kGood}, AtScale(kMostLossScale, 1999), kScaled);
  EXPECT_EQ(ScaleAfter(most[0]), (LossScale{kMostLossScale, 0}));
  const auto least = DecideAll({kGood, kNotFinite}, AtScale(kLeastLossScale, 7), kScaled);
  EXPECT_EQ(ScaleAfter(least[0]), (LossScale{kLeastLossScale, 8}));
  EXPECT_EQ(ScaleAfter(least[1]), (LossScale{kLeastLossScale, 0}));
}

TEST(LossScaleTest, StepsWithoutTokensAndUpdatesThatAreNotFiniteLeaveIt) {
  const auto run = DecideAll({kNoTokens}, AtScale(64, 5), kScaled);
  EXPECT_EQ(ScaleAfter(run[0]), (LossScale{64, 5}));
  const PastSteps before = AtScale(64, 5);
  const auto good = DecideStep(kGood, kScaled, before, {}, {});
  const auto skipped = WithoutUpdate(good, kScaled, before);
  EXPECT_EQ(ScaleAfter(skipped), before.loss_scale);
  EXPECT_EQ(skipped.skipped_in_row(), 1) << "its gradients were finite: the scale is not at fault";
}

TEST(LossScaleTest, NormAndClippingAreOfTheGradientsWithoutIt) {
  const VoteTotals one{.sum_of_squares = 16.0, .loss_sum = 1.0, .valid_tokens = 5.0};
  VoteTotals scaled = one;
  scaled.sum_of_squares *= 65536.0 * 65536.0;
  const StepRules plain = {.nominal_tokens = 10, .clip_norm = 1.0};
  StepRules rules = plain;
  rules.scales_loss = true;
  const auto want = DecideStep(one, plain, {}, {}, {});
  const auto got = DecideStep(scaled, rules, AtScale(65536), {}, {});
  EXPECT_EQ(want.gradient_norm(), 8.0);
  EXPECT_EQ(got.gradient_norm(), want.gradient_norm());
  EXPECT_EQ(got.clip_factor(), want.clip_factor());
  EXPECT_EQ(got.loss(), want.loss());
}

TEST(LossScaleTest, ARunThatScalesNoLossStaysAtOne) {
  for (const auto& decision : DecideAll(std::vector(2001, kGood), {})) {
    ASSERT_EQ(ScaleAfter(decision), LossScale{});
  }
  EXPECT_EQ(ScaleAfter(DecideAll({kNotFinite}, {})[0]), LossScale{});
  EXPECT_EQ(ScaleAfter(v1alpha1::StepDecision()), LossScale{}) << "of an older program";
}

TEST(VoteMessageTest, EveryRankLearnsWhoAsksForWhatAndWhoStillWrites) {
  for (const bool deterministic : {false, true}) {
    std::vector<double> sum;
    for (int rank = 0; rank < 5; ++rank) {
      const std::vector<double> part = EncodeVote({.save = rank == 1,
                                                   .stop = rank != 1,
                                                   .copy = rank < 3,
                                                   .save_due = rank < 2,
                                                   .writing = true,
                                                   .rank = rank,
                                                   .ranks = 5},
                                                  deterministic, 5, 7);
      sum.resize(part.size());
      for (size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
    }
    const VoteTotals totals = DecodeVote(sum, deterministic, 5, 7);
    EXPECT_EQ(totals.save_requests, 1.0);
    EXPECT_EQ(totals.saves_due, 2.0);
    EXPECT_EQ(totals.copy_requests, 3.0);
    EXPECT_EQ(totals.stop_requests, 4.0);
    EXPECT_EQ(totals.writing, 5.0);
  }
}

// The plain sum of these numbers depends on the order; the deterministic vote must not.
TEST(VoteMessageTest, DeterministicTotalsDoNotDependOnHowRanksShareTheLeaves) {
  const std::vector<double> losses = {1e16, 1.0, -1e16, 3.0, 1e-3};
  const std::vector<double> tokens(5, 7.0);
  const std::vector<double> squares = {1e16, 1.0, 1.0, 1.0, 1e16, 2.0, 3.0};
  const auto totals = [&](const std::vector<size_t>& cuts_m, const std::vector<size_t>& cuts_c) {
    std::vector<double> sum;
    for (size_t r = 0; r + 1 < cuts_m.size(); ++r) {
      std::vector<int64_t> chunks(cuts_c[r + 1] - cuts_c[r]);
      std::iota(chunks.begin(), chunks.end(), static_cast<int64_t>(cuts_c[r]));
      const VoteContribution share{
          .first_micro_batch = static_cast<int64_t>(cuts_m[r]),
          .losses = std::span(losses).subspan(cuts_m[r], cuts_m[r + 1] - cuts_m[r]),
          .valid_tokens = std::span(tokens).subspan(cuts_m[r], cuts_m[r + 1] - cuts_m[r]),
          .chunks = chunks,
          .chunk_squares = std::span(squares).subspan(cuts_c[r], cuts_c[r + 1] - cuts_c[r]),
          .save = r == 1};
      const std::vector<double> part = EncodeVote(share, true, 5, 7);
      sum.resize(part.size());
      for (size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
    }
    return DecodeVote(sum, true, 5, 7);
  };
  const VoteTotals one = totals({0, 5}, {0, 7});
  EXPECT_EQ(one.valid_tokens, 35.0);
  for (const VoteTotals& other :
       {totals({0, 2, 5}, {0, 3, 7}), totals({0, 1, 3, 5}, {0, 2, 4, 7})}) {
    EXPECT_EQ(other.loss_sum, one.loss_sum);
    EXPECT_EQ(other.sum_of_squares, one.sum_of_squares);
    EXPECT_EQ(other.valid_tokens, one.valid_tokens);
    EXPECT_EQ(other.save_requests, 1.0);
  }
}

TEST(VoteMessageTest, EveryRankLearnsHowLongTheRanksWereBusyAndWhoLongest) {
  for (const bool deterministic : {false, true}) {
    std::vector<double> sum;
    for (int rank = 0; rank < 4; ++rank) {
      const double busy[] = {2.0, 1.0, 4.0, 1.0};
      const std::vector<double> part =
          EncodeVote({.stop = rank == 3, .rank = rank, .ranks = 4, .busy_seconds = busy[rank]},
                     deterministic, 5, 7);
      sum.resize(part.size());
      for (size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
    }
    const BusyTimes times = DecodeBusyTimes(sum, 4);
    EXPECT_EQ(times.mean, 2.0);
    EXPECT_EQ(times.longest, 4.0);
    EXPECT_EQ(times.slowest, 2);
    const VoteTotals totals = DecodeVote(sum, deterministic, 5, 7);
    EXPECT_EQ(totals.stop_requests, 1.0);
    EXPECT_EQ(totals.loss_sum, 0.0);
    EXPECT_EQ(totals.sum_of_squares, 0.0);
  }
}

TEST(VoteMessageTest, EveryRankLearnsTheMemoryOfTheFullestDeviceAndTheRetriesOfAll) {
  const int64_t kNumbers[3][4] = {
      {80, 40, 30, 2}, {1LL << 40, 7LL << 37, 1LL << 39, 0}, {80, 60, 59, 5}};
  for (const bool deterministic : {false, true}) {
    std::vector<double> sum;
    for (int rank = 0; rank < 3; ++rank) {
      VoteContribution share{.stop = rank == 1, .rank = rank, .ranks = 3, .busy_seconds = 1.0};
      v1alpha1::DeviceMemory& memory = share.device_memory.emplace();
      memory.set_total(kNumbers[rank][0]);
      memory.set_reserved(kNumbers[rank][1]);
      memory.set_allocated_peak(kNumbers[rank][2]);
      memory.set_retries(kNumbers[rank][3]);
      const std::vector<double> part = EncodeVote(share, deterministic, 5, 7);
      sum.resize(part.size());
      for (size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
    }
    const v1alpha1::DeviceMemory memory = DecodeDeviceMemory(sum, 3);
    EXPECT_EQ(memory.total(), 1LL << 40);
    EXPECT_EQ(memory.reserved(), 7LL << 37);
    EXPECT_EQ(memory.allocated_peak(), 1LL << 39);
    EXPECT_EQ(memory.retries(), 7);
    EXPECT_EQ(DecodeBusyTimes(sum, 3).mean, 1.0);
    EXPECT_EQ(DecodeVote(sum, deterministic, 5, 7).stop_requests, 1.0);
  }
}

v1alpha1::Version At(int64_t step, int64_t attempt) {
  v1alpha1::Version version;
  version.set_step(step);
  version.set_attempt(attempt);
  return version;
}

absl::Status CheckOf(const std::vector<v1alpha1::Version>& votes, size_t rank) {
  std::vector<double> sum;
  for (const v1alpha1::Version& version : votes) {
    const std::vector<double> part = EncodeVote({.version = version}, false, 4, 2);
    sum.resize(part.size());
    for (size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
  }
  return CheckVersions(sum, votes[rank], static_cast<int64_t>(votes.size()));
}

TEST(VoteMessageTest, AVoteOnAnotherStepOrAttemptIsAnErrorThatNamesBoth) {
  EXPECT_EQ(CheckOf({At(100007, 1), At(100007, 1)}, 0), absl::OkStatus());
  EXPECT_EQ(CheckOf({At(100007, 1), At(100005, 1)}, 0),
            absl::InternalError("ranks vote on different steps: this one on step 100007 (attempt "
                                "1), the others on step 100005 (attempt 1)"));
  EXPECT_EQ(CheckOf({At(7, 1), At(7, 3)}, 1),
            absl::InternalError("ranks vote on different steps: this one on step 7 (attempt 3), "
                                "the others on step 7 (attempt 1)"));
  EXPECT_EQ(CheckOf({At(9, 1), At(9, 1), At(8, 2), At(9, 1)}, 2),
            absl::InternalError("ranks vote on different steps: this one on step 8 (attempt 2), "
                                "the others on step 9 (attempt 1) on average"));
}

TEST(VoteMessageTest, ARankAtTheMeanOfTheOthersSeesThatTheyDiffer) {
  EXPECT_EQ(CheckOf({At(5, 1), At(6, 1), At(7, 1)}, 1).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(CheckOf({At(6, 1), At(6, 2), At(6, 3)}, 1).code(), absl::StatusCode::kInternal);
}

absl::Status CheckOfTrajectories(const std::vector<uint64_t>& votes, size_t rank) {
  std::vector<double> sum;
  for (const uint64_t trajectory : votes) {
    const std::vector<double> part = EncodeVote({.trajectory = trajectory}, true, 4, 2);
    sum.resize(part.size());
    for (size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
  }
  return CheckTrajectories(sum, votes[rank], static_cast<int64_t>(votes.size()));
}

TEST(VoteMessageTest, AVoteOfRanksWithDifferentSpecsIsAnError) {
  const uint64_t one = 0xFEDCBA9876543210u, other = 0xFEDCBA9876543211u;
  EXPECT_EQ(CheckOfTrajectories({one, one, one}, 2), absl::OkStatus());
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(CheckOfTrajectories({one, other, one}, rank).code(), absl::StatusCode::kInternal);
  }
  EXPECT_EQ(CheckOfTrajectories({other - 1, other, other + 1}, 1).code(),
            absl::StatusCode::kInternal)
      << "one at the mean of the others";
  EXPECT_EQ(CheckOfTrajectories(std::vector<uint64_t>(9999, UINT64_MAX), 0), absl::OkStatus());
}

TEST(VoteMessageTest, VotesOfManyRanksAtALateStepAddUpExactly) {
  EXPECT_EQ(CheckOf(std::vector<v1alpha1::Version>(9999, At(1'000'065'535, 65535)), 0),
            absl::OkStatus());
  std::vector<v1alpha1::Version> votes(9999, At(1'000'065'535, 65535));
  votes.back() = At(1'000'065'534, 65535);
  EXPECT_EQ(CheckOf(votes, 0).code(), absl::StatusCode::kInternal);
}

TEST(DecideSaveTest, NobodySavesUnlessItIsDueOrOrdered) {
  EXPECT_EQ(DecideSave({}), SaveChoice::kNone);
  EXPECT_EQ(DecideSave({.writing = true}), SaveChoice::kNone);
  EXPECT_EQ(DecideSave({.stops = true}), SaveChoice::kNone) << "it was told to stop without a save";
  EXPECT_EQ(DecideSave({.due = true}), SaveChoice::kNow);
  EXPECT_EQ(DecideSave({.ordered = true}), SaveChoice::kNow);
}

TEST(DecideSaveTest, ASaveBesideAnEarlierOneIsHeldBackWhoeverWantsIt) {
  EXPECT_EQ(DecideSave({.due = true, .writing = true}), SaveChoice::kHeldBack);
  EXPECT_EQ(DecideSave({.ordered = true, .writing = true}), SaveChoice::kHeldBack);
  EXPECT_EQ(DecideSave({.due = true, .ordered = true, .writing = true}), SaveChoice::kHeldBack);
}

TEST(DecideSaveTest, OnlyTheSaveAtTheEndWaitsForAnEarlierOne) {
  for (const bool writing : {false, true}) {
    EXPECT_EQ(DecideSave({.last = true, .writing = writing}), SaveChoice::kAtEnd);
    EXPECT_EQ(DecideSave({.due = true, .last = true, .writing = writing}), SaveChoice::kAtEnd);
    EXPECT_EQ(DecideSave({.ordered = true, .stops = true, .writing = writing}), SaveChoice::kAtEnd);
  }
  EXPECT_EQ(DecideSave({.due = true, .stops = true, .writing = true}), SaveChoice::kHeldBack)
      << "nobody asked for a save at this end";
}

VoteTotals OfLoss(double loss) {
  return {.sum_of_squares = 1.0, .loss_sum = 10.0 * loss, .valid_tokens = 10.0};
}

StepRules Watching(SpikeResponse response) {
  return {.nominal_tokens = 10, .watch = {.response = response, .max_in_row = 2}};
}

std::vector<VoteTotals> CalmThen(const std::vector<double>& losses) {
  std::vector<VoteTotals> votes;
  for (int i = 0; i < 20; ++i) votes.push_back(OfLoss(4.0 + 0.05 * (i % 3)));
  for (const double loss : losses) votes.push_back(OfLoss(loss));
  return votes;
}

TEST(WatchTest, ASpikeIsSkippedAndTheNextStepIsJudgedByTheStepsBeforeIt) {
  const auto run = DecideAll(CalmThen({9.0, 4.0}), {}, Watching(SpikeResponse::kSkip));
  for (size_t i = 0; i < 20; ++i) EXPECT_TRUE(run[i].apply() && run[i].spike().empty()) << i;
  EXPECT_FALSE(run[20].apply());
  EXPECT_EQ(run[20].skip_reason(),
            "loss 9 is 61.1111 deviations above 4.05, the median of 20 steps");
  EXPECT_EQ(run[20].spikes_in_row(), 1);
  EXPECT_EQ(run[20].skipped_total(), 0) << "only steps that are not finite count";
  EXPECT_TRUE(run[21].apply());
  EXPECT_EQ(run[21].spikes_in_row(), 0);
  EXPECT_EQ(run[21].spikes_total(), 1);
  EXPECT_EQ(run[21].rate_factor(), 1.0);
}

TEST(WatchTest, AfterTooManySpikesInARowTheirLevelIsTheNewOne) {
  const auto run = DecideAll(CalmThen(std::vector(20, 9.0)), {}, Watching(SpikeResponse::kSkip));
  EXPECT_FALSE(run[20].apply() || run[21].apply());
  EXPECT_TRUE(run[22].apply());
  EXPECT_NE(run[22].spike(), "");
  for (size_t i = 23; i < 40; ++i) EXPECT_TRUE(run[i].apply() && run[i].spike().empty()) << i;
  EXPECT_EQ(run.back().spikes_total(), 3);
}

TEST(WatchTest, EachSpikeLowersTheRateOfTheStepsAfterIt) {
  const auto run =
      DecideAll(CalmThen({9.0, 4.0, 9.0, 4.0}), {}, Watching(SpikeResponse::kLowerRate));
  EXPECT_EQ(run[19].rate_factor(), 1.0);
  EXPECT_EQ(run[20].rate_factor(), 0.5);
  EXPECT_EQ(run[22].rate_factor(), 0.25);
  EXPECT_EQ(run[23].rate_factor(), 0.25);
  PastSteps low = {.watched = {.rate_factor = 0.015}};
  EXPECT_EQ(DecideAll(CalmThen({9.0}), low, Watching(SpikeResponse::kLowerRate))[20].rate_factor(),
            0.01);
  // Once the watch is off, the rate stays as it is.
  PastSteps before = PastStepsAfter(run[23], Watching(SpikeResponse::kLowerRate), {});
  EXPECT_EQ(DecideAll({OfLoss(9.0)}, before).back().rate_factor(), 0.25);
}

TEST(WatchTest, OnlyReportAppliesASpikeAndOnlyStopEndsTheRun) {
  using enum SpikeResponse;
  for (const SpikeResponse response : {kOff, kReport, kSkip, kLowerRate, kStop}) {
    const StepRules rules = Watching(response);
    const v1alpha1::StepDecision spike = DecideAll(CalmThen({9.0}), {}, rules).back();
    EXPECT_EQ(spike.apply(), response == kOff || response == kReport);
    EXPECT_EQ(spike.spike().empty(), response == kOff);
    EXPECT_EQ(EndsBySpike(spike, rules), response == kStop);
  }
}

TEST(WatchTest, StepsThatAreNotFiniteAreNoSpikesAndAreNotRemembered) {
  const StepRules rules = Watching(SpikeResponse::kSkip);
  std::vector<VoteTotals> votes = CalmThen({});
  votes.insert(votes.end(), {kNotFinite, OfLoss(9.0)});
  const auto run = DecideAll(votes, {}, rules);
  EXPECT_EQ(run[20].spike(), "");
  EXPECT_EQ(run[20].skipped_total(), 1);
  EXPECT_EQ(run[21].skip_reason(),
            "loss 9 is 61.1111 deviations above 4.05, the median of 20 steps");
}

}  // namespace
}  // namespace muster::trainer
