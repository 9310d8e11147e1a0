#include "operator/core/resume/resume.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/testing/rank_positions.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1alpha1::ResumePoint;

TEST(DecideResumeTest, FreshWhenNobodyHoldsAnything) {
  const ResumeDecision decision = DecideResume({RankPosition(), RankPosition()});
  EXPECT_EQ(decision.reason, ResumeReason::kFresh);
  EXPECT_EQ(decision.point.source(), ResumePoint::FRESH);
  EXPECT_EQ(decision.point.version().step(), 0);
}

TEST(DecideResumeTest, SurvivorsAtOneVersionGoOn) {
  const ResumeDecision decision = DecideResume({At(V(7, 1)), At(V(7, 1))}, {{}, 5});
  EXPECT_EQ(decision.reason, ResumeReason::kLiveInStep);
  EXPECT_THAT(Receivers(decision), IsEmpty());
  EXPECT_EQ(decision.point.next_attempt(), 5);
}

TEST(DecideResumeTest, ADecisionIsRelayedFromARankThatAppliedItToRanksThatSealed) {
  const ResumeDecision decision =
      DecideResume({At(V(7, 1), V(8, 1)), At(V(8, 1), std::nullopt, {V(8, 1)})});
  EXPECT_EQ(decision.reason, ResumeReason::kLiveRelay);
  EXPECT_EQ(decision.point.version().step(), 8);
  EXPECT_EQ(decision.point.relay().clip_factor(), 0.5);
  EXPECT_THAT(Receivers(decision), IsEmpty());
}

TEST(DecideResumeTest, ADecisionThatNobodyAppliedIsRelayedToAllRanksThatSealed) {
  const ResumeDecision decision =
      DecideResume({At(V(7, 1), V(8, 1)), At(V(7, 1), V(8, 1), {V(8, 1)}), At(std::nullopt)});
  EXPECT_EQ(decision.reason, ResumeReason::kLiveRelay);
  EXPECT_EQ(decision.point.version().step(), 8);
  EXPECT_THAT(Receivers(decision), ElementsAre(2));
  EXPECT_EQ(decision.point.donor(), 0);
}

TEST(DecideResumeTest, AStepWithoutAKnownDecisionIsRedone) {
  const ResumeDecision decision = DecideResume({At(V(7, 1), V(8, 1)), At(V(7, 1), V(8, 1))});
  EXPECT_EQ(decision.reason, ResumeReason::kLiveRedo);
  EXPECT_EQ(decision.point.version().step(), 7);
  EXPECT_EQ(decision.point.next_attempt(), 2) << "step 8 of attempt 1 may live on in a dead rank";
  EXPECT_FALSE(decision.point.has_relay());
}

TEST(DecideResumeTest, AFreshRankReceivesFromTheLowestHolder) {
  const ResumeDecision decision = DecideResume({At(std::nullopt), At(V(7, 1)), At(V(7, 1))});
  EXPECT_EQ(decision.reason, ResumeReason::kLiveBehind);
  EXPECT_EQ(decision.point.donor(), 1);
  EXPECT_THAT(Receivers(decision), ElementsAre(0));
}

TEST(DecideResumeTest, AVersionIsLiveIfTheSlicesOfTheSurvivorsCoverIt) {
  const ResumeDecision decision =
      DecideResume({Shard(1, 2, At(V(7, 1))), At(std::nullopt), Shard(0, 2, At(V(7, 1)))});
  EXPECT_EQ(decision.reason, ResumeReason::kLiveBehind);
  EXPECT_THAT(Receivers(decision), ElementsAre(1));
  EXPECT_THAT(Slices(decision), ElementsAre(std::pair(1, 2), std::pair(0, 0), std::pair(0, 2)));
}

TEST(DecideResumeTest, ASliceThatNobodyHoldsLosesTheVersionAndTheLostStepsAreSaid) {
  const auto survivor = WithCheckpoints(Shard(0, 2, At(V(7, 2))), {V(4, 1)});
  const ResumeDecision decision = DecideResume({survivor, WithCheckpoints({}, {V(4, 1)})});
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpoint);
  EXPECT_EQ(decision.point.version().step(), 4);
  EXPECT_EQ(decision.sentence,
            "the live state of step 7 (attempt 2) is not whole: no rank holds the part from 1/2 to "
            "1 of it; loading step-4: 3 steps are lost");
}

TEST(DecideResumeTest, WithoutACheckpointALostSliceIsAFreshStartThatSaysSo) {
  const ResumeDecision decision = DecideResume({Shard(2, 3, At(V(7, 2))), At(std::nullopt)});
  EXPECT_EQ(decision.reason, ResumeReason::kFresh);
  EXPECT_EQ(decision.sentence,
            "the live state of step 7 (attempt 2) is not whole: no rank holds the part from 0 to "
            "2/3 of it; there is no checkpoint: starting from initial weights, 7 steps are lost");
}

// Three ranks were to become four when the round broke, and each may have its new slice already, or
// still its old one. The fourth had none. In twelfths of the state a new slice is three, an old one
// four.
TEST(DecideResumeTest, AGrowthThatBreaksIsGoneOnFromOnlyIfSlicesOfBothLayoutsCoverTheState) {
  int live = 0;
  for (unsigned moved = 0; moved < 16; ++moved) {
    std::vector<RankPosition> ranks;
    unsigned covered = 0;
    for (int rank = 0; rank < 4; ++rank) {
      const bool is_moved = (moved >> rank & 1) != 0;
      const bool holds = is_moved || rank < 3;
      RankPosition position = holds ? At(V(7, 2)) : At(std::nullopt);
      if (holds) position = Shard(rank, is_moved ? 4 : 3, position);
      if (holds) covered |= is_moved ? 7u << (3 * rank) : 15u << (4 * rank);
      ranks.push_back(WithCheckpoints(position, {V(4, 1)}));
    }
    const ResumeDecision decision = DecideResume(ranks);
    const bool whole = covered == (1u << 12) - 1;
    live += whole;
    EXPECT_EQ(decision.point.source(), whole ? ResumePoint::LIVE : ResumePoint::CHECKPOINT)
        << moved << ": " << decision.sentence;
    EXPECT_EQ(decision.point.version().step(), whole ? 7 : 4) << moved;
    if (moved != 1) continue;
    EXPECT_EQ(decision.sentence,
              "the live state of step 7 (attempt 2) is not whole: no rank holds the part from 1/4 "
              "to 1/3 of it; loading step-4: 3 steps are lost");
  }
  EXPECT_EQ(live, 5) << "the first ranks keep their old slices, and all others have their new ones";
}

TEST(DecideResumeTest, AnOlderVersionThatIsWholeIsBetterThanANewerOneThatIsNot) {
  // Rank 1 applied step 8, and the other holder of its shard has no gradients of it.
  const ResumeDecision decision =
      DecideResume({Shard(0, 2, At(V(7, 1))), Shard(1, 2, At(V(8, 1), std::nullopt, {V(8, 1)})),
                    Shard(1, 2, At(V(7, 1)))});
  EXPECT_EQ(decision.point.version().step(), 7);
  EXPECT_THAT(Receivers(decision), ElementsAre(1));
}

TEST(DecideResumeTest, ADecisionIsRelayedOnlyIfItsVersionIsThenWhole) {
  const RankPosition sealed = At(V(7, 1), V(8, 1));
  const ResumeDecision decision =
      DecideResume({Shard(0, 2, sealed), Shard(1, 2, At(V(8, 1), std::nullopt, {V(8, 1)}))});
  EXPECT_EQ(decision.reason, ResumeReason::kLiveRelay);
  EXPECT_EQ(decision.point.version().step(), 8);
  EXPECT_THAT(Receivers(decision), IsEmpty());
}

TEST(DecideResumeTest, WholeStatesNeedNoSlices) {
  EXPECT_THAT(Slices(DecideResume({At(V(7, 1)), Shard(0, 1, At(V(7, 1)))})), IsEmpty());
}

TEST(DecideResumeTest, AZombieOfAnOlderHistoryReceives) {
  const ResumeDecision decision = DecideResume({At(V(12, 1)), At(V(10, 3))});
  EXPECT_EQ(decision.point.version().step(), 10);
  EXPECT_EQ(decision.point.donor(), 1);
  EXPECT_THAT(Receivers(decision), ElementsAre(0));
}

// Regression, found by exploring the commit protocol: rank 0 applied step 2 of a round that rank 1
// had already left for a newer one. If rank 1 then received and rank 0 died meanwhile, the state
// that rank 1 had committed was lost.
TEST(DecideResumeTest, RegressionARankThatMissedARoundDoesNotSetWhereToGoOn) {
  RankPosition missed = At(V(2, 1), std::nullopt, {V(2, 1)});
  missed.set_round(1);
  RankPosition stayed = At(V(1, 1), V(2, 2));
  stayed.set_round(2);
  const ResumeDecision decision = DecideResume({missed, stayed});
  EXPECT_EQ(Order(decision.point.version()), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(decision.point.donor(), 1);
  EXPECT_THAT(Receivers(decision), ElementsAre(0));
  EXPECT_FALSE(decision.point.pristine());
}

TEST(DecideResumeTest, LoadedWeightsGiveWayToLiveOnes) {
  RankPosition live = At(V(2, 1), std::nullopt, {V(2, 1)});
  live.set_round(1);
  const ResumeDecision decision = DecideResume({At(V(0, 0)), live});
  EXPECT_EQ(decision.point.version().step(), 2);
  EXPECT_THAT(Receivers(decision), ElementsAre(0));
  EXPECT_TRUE(DecideResume({At(V(0, 0))}).point.pristine());
}

TEST(DecideResumeTest, SealedGradientsOfAnotherAttemptAreWorthless) {
  const ResumeDecision decision =
      DecideResume({At(V(7, 1), V(8, 1)), At(V(8, 2), std::nullopt, {V(8, 2)})});
  EXPECT_EQ(Order(decision.point.version()), std::pair(int64_t{2}, int64_t{8}));
  EXPECT_FALSE(decision.point.has_relay());
  EXPECT_THAT(Receivers(decision), ElementsAre(0));
}

TEST(DecideResumeTest, TheNewestCheckpointThatAllSee) {
  const ResumeDecision decision =
      DecideResume({WithCheckpoints(At(std::nullopt), {V(30, 1), V(20, 1), V(10, 1)}),
                    WithCheckpoints(At(std::nullopt), {V(20, 1), V(10, 1)})});
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpoint);
  EXPECT_EQ(decision.point.checkpoint().directory(), "step-20");
  EXPECT_EQ(decision.point.next_attempt(), 2);
}

TEST(DecideResumeTest, ABadCheckpointIsPassedOver) {
  const RankPosition sees = WithCheckpoints(At(std::nullopt), {V(20, 1), V(10, 1)});
  const ResumeDecision older = DecideResume({sees, sees}, {{"step-20"}, 0});
  EXPECT_EQ(older.point.checkpoint().directory(), "step-10");
  EXPECT_TRUE(older.gives_up) << "ten steps are lost, and that is said";
  const ResumeDecision none = DecideResume({sees, sees}, {{"step-20", "step-10"}, 0});
  EXPECT_EQ(none.reason, ResumeReason::kCheckpointLost);
  EXPECT_TRUE(none.holds());
}

TEST(DecideResumeTest, ACheckpointThatSomeDoNotSeeIsNotSilentlyGivenUp) {
  const ResumeDecision decision =
      DecideResume({WithCheckpoints(At(std::nullopt), {V(20, 1)}), At(std::nullopt)});
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpointHidden);
  EXPECT_EQ(decision.point.source(), ResumePoint::SOURCE_UNSPECIFIED);
  EXPECT_THAT(decision.sentence, HasSubstr("step-20 is not visible to every rank"));
}

// Regression: a worker that Shrink had left out came back when the others were gone.
TEST(DecideResumeTest, RegressionAStaleSurvivorDoesNotBeatANewerCheckpoint) {
  const ResumeDecision decision = DecideResume(
      {WithCheckpoints(At(V(40, 1)), {V(60, 2)}), WithCheckpoints(At(std::nullopt), {V(60, 2)})});
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpoint);
  EXPECT_EQ(decision.point.version().step(), 60);
}

std::vector<RankPosition> AllPositions(bool small) {
  const std::vector<std::optional<Version>> applied = {std::nullopt, V(0, 0), V(1, 1), V(2, 1),
                                                       V(2, 2)};
  const std::vector<std::optional<Version>> sealed = {std::nullopt, V(2, 1), V(2, 2), V(3, 2)};
  const std::vector<std::vector<Version>> decisions = {{}, {V(2, 1)}, {V(2, 2)}};
  std::vector<RankPosition> all;
  for (const auto& a : applied) {
    for (const auto& s : sealed) {
      if (s && (!a || s->step() != a->step() + 1)) continue;
      for (const auto& d : decisions) {
        all.push_back(At(a, s, d));
        if (!small || (!a && d.empty())) all.push_back(WithCheckpoints(At(a, s, d), {V(1, 1)}));
        if (!small) all.push_back(WithCheckpoints(At(a, s, d), {V(2, 2), V(1, 1)}));
      }
    }
  }
  return all;
}

using Positions = std::vector<RankPosition>;

void ForAllSets(const std::function<void(const Positions&)>& check) {
  const Positions two = AllPositions(/*small=*/false);
  for (const RankPosition& a : two) {
    check({a});
    for (const RankPosition& b : two) check({a, b});
  }
  const Positions three = AllPositions(/*small=*/true);
  for (const RankPosition& a : three) {
    for (const RankPosition& b : three) {
      for (const RankPosition& c : three) check({a, b, c});
    }
  }
}

bool CanApply(const RankPosition& p, const Version& target) {
  return p.has_sealed() && Order(p.sealed()) == Order(target);
}

std::string Print(const Positions& positions) {
  std::string text;
  for (const RankPosition& position : positions) text += "{" + position.ShortDebugString() + "} ";
  return text;
}

// Returns the positions after the ranks carried out `point`; bit r of `relayed` is set if rank r
// got as far as to apply the relayed decision.
Positions CarryOut(const Positions& positions, const ResumePoint& point, unsigned relayed) {
  Positions after = positions;
  for (size_t r = 0; r < after.size(); ++r) {
    const bool receives =
        std::count(point.receivers().begin(), point.receivers().end(), static_cast<int>(r)) > 0;
    if (receives || (relayed >> r & 1) == 0) continue;
    if (Order(after[r].applied()) == Order(point.version())) continue;
    *after[r].mutable_applied() = point.version();
    *after[r].add_decisions() = point.relay();
    after[r].clear_sealed();
  }
  return after;
}

void CheckLive(const Positions& positions, const ResumePoint& point) {
  int lowest = -1;
  for (int r = 0; r < static_cast<int>(positions.size()); ++r) {
    const RankPosition& p = positions[r];
    const bool receives = std::count(point.receivers().begin(), point.receivers().end(), r) > 0;
    const bool holds = p.has_applied() && Order(p.applied()) == Order(point.version());
    const bool applies = point.has_relay() && CanApply(p, point.version());
    ASSERT_EQ(receives, !holds && !applies) << Print(positions);
    if (!receives && lowest < 0) lowest = r;
    if (p.has_applied()) {
      ASSERT_GE(Order(point.version()), Order(p.applied())) << Print(positions);
    }
  }
  ASSERT_EQ(point.donor(), lowest) << Print(positions);
  if (point.has_relay()) {
    ASSERT_EQ(Order(point.relay().version()), Order(point.version()));
  }
}

TEST(DecideResumeExhaustiveTest, TheResultCanBeReachedAndNothingLiveIsLost) {
  ForAllSets([](const Positions& positions) {
    const ResumePoint point = DecideResume(positions).point;
    const bool any_live = std::any_of(positions.begin(), positions.end(),
                                      [](const RankPosition& p) { return p.has_applied(); });
    if (point.source() == ResumePoint::LIVE) return CheckLive(positions, point);
    if (point.source() == ResumePoint::CHECKPOINT) {
      for (const RankPosition& p : positions) {
        if (p.has_applied()) {
          ASSERT_GT(Order(point.version()), Order(p.applied()));
        }
        ASSERT_TRUE(std::any_of(p.checkpoints().begin(), p.checkpoints().end(), [&](const auto& c) {
          return c.directory() == point.checkpoint().directory();
        })) << Print(positions);
      }
      return;
    }
    ASSERT_FALSE(any_live) << Print(positions);
  });
}

TEST(DecideResumeExhaustiveTest, TheNextAttemptIsNew) {
  ForAllSets([](const Positions& positions) {
    const int64_t next = DecideResume(positions).point.next_attempt();
    for (const RankPosition& p : positions) {
      if (p.has_applied()) {
        ASSERT_GT(next, p.applied().attempt()) << Print(positions);
      }
      if (p.has_sealed()) {
        ASSERT_GT(next, p.sealed().attempt()) << Print(positions);
      }
      for (const auto& d : p.decisions()) ASSERT_GT(next, d.version().attempt());
      for (const auto& c : p.checkpoints()) ASSERT_GT(next, c.version().attempt());
    }
    ASSERT_EQ(DecideResume(positions, {{}, 99}).point.next_attempt(), 99);
  });
}

TEST(DecideResumeExhaustiveTest, AnInterruptedResumeDecidesTheSame) {
  ForAllSets([](const Positions& positions) {
    const ResumePoint first = DecideResume(positions).point;
    ASSERT_EQ(first.SerializeAsString(), DecideResume(positions).point.SerializeAsString());
    if (first.source() != ResumePoint::LIVE) return;
    for (unsigned relayed = 0; relayed < 1u << positions.size(); ++relayed) {
      const ResumePoint again = DecideResume(CarryOut(positions, first, relayed)).point;
      ASSERT_EQ(Order(again.version()), Order(first.version())) << Print(positions) << relayed;
      ASSERT_EQ(again.receivers_size(), first.receivers_size()) << Print(positions) << relayed;
    }
  });
}

TEST(DecideResumeExhaustiveTest, TheOrderOfRanksDoesNotMatter) {
  ForAllSets([](const Positions& positions) {
    Positions reversed(positions.rbegin(), positions.rend());
    const ResumePoint a = DecideResume(positions).point;
    const ResumePoint b = DecideResume(reversed).point;
    ASSERT_EQ(a.source(), b.source()) << Print(positions);
    ASSERT_EQ(Order(a.version()), Order(b.version())) << Print(positions);
    ASSERT_EQ(a.receivers_size(), b.receivers_size()) << Print(positions);
  });
}

}  // namespace
}  // namespace muster::control
