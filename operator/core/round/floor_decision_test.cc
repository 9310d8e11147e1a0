// Tests DecideResume with a floor: a job's newest known checkpoint is not given up unnoticed.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/checkpoint/checkpoint_history.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/resume/resume.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1alpha1::CheckpointRef;
using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;

constexpr char kOurs[] = "00000000000000aa";
constexpr char kOther[] = "00000000000000bb";
constexpr char kNew[] = "00000000000000cc";

CheckpointRef Ref(int64_t step, int64_t attempt, const std::string& history = kOurs,
                  const std::string& mismatch = "") {
  CheckpointRef ref;
  ref.set_directory("step-" + std::to_string(step));
  ref.mutable_version()->set_step(step);
  ref.mutable_version()->set_attempt(attempt);
  ref.set_history(history);
  ref.set_mismatch(mismatch);
  return ref;
}

RankPosition Sees(const std::vector<CheckpointRef>& refs) {
  RankPosition position;
  for (const CheckpointRef& ref : refs) *position.add_checkpoints() = ref;
  return position;
}

RankPosition Live(int64_t step, int64_t attempt, const std::vector<CheckpointRef>& refs = {},
                  const std::string& history = kOurs) {
  RankPosition position = Sees(refs);
  position.mutable_applied()->set_step(step);
  position.mutable_applied()->set_attempt(attempt);
  position.set_history(history);
  position.set_term(1);
  position.set_round(attempt);
  return position;
}

// Decides for two ranks that see the same.
ResumeDecision Decide(const RankPosition& position, const ResumeOptions& options) {
  return DecideResume({position, position}, options);
}

ResumeOptions At(int64_t step, const std::string& history = kOurs) {
  ResumeOptions options;
  options.floor = Floor{step, history};
  options.new_history = kNew;
  return options;
}

ResumeOptions GivenUp(ResumeOptions options) {
  options.give_up = FloorText(*options.floor);
  return options;
}

TEST(FloorTest, LiveStateAtOrBeyondItGoesOnWhateverTheDirectorySays) {
  for (RankPosition live : {Live(4200, 3), Live(4300, 3)}) {
    EXPECT_EQ(Decide(live, At(4200)).point.source(), ResumePoint::LIVE);
    live.set_listing_error("input/output error");
    const ResumeDecision decision = Decide(live, At(4200));
    EXPECT_EQ(decision.point.source(), ResumePoint::LIVE);
    EXPECT_EQ(decision.point.history(), kOurs);
    EXPECT_FALSE(decision.gives_up);
  }
}

TEST(FloorTest, LiveStateBehindItGivesWay) {
  const ResumeDecision decision = Decide(Live(4100, 3, {Ref(4200, 4)}), At(4200));
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpoint);
  EXPECT_EQ(decision.point.version().step(), 4200);
}

TEST(FloorTest, LiveStateOfAnotherHistoryIsNone) {
  const ResumeDecision decision = Decide(Live(9000, 9, {Ref(10, 10)}, kOther), At(10));
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpoint);
  EXPECT_EQ(decision.point.history(), kOurs);
  EXPECT_EQ(Decide(Live(9000, 9, {}, kOther), At(10)).reason, ResumeReason::kCheckpointLost);
}

TEST(FloorTest, ItIsLoadedOrANewerOneOfItsHistory) {
  EXPECT_EQ(Decide(Sees({Ref(4200, 3), Ref(4000, 3)}), At(4200)).point.version().step(), 4200);
  const ResumeDecision newer = Decide(Sees({Ref(4400, 3), Ref(4200, 3)}), At(4200));
  EXPECT_EQ(newer.point.version().step(), 4400);
  EXPECT_EQ(newer.point.history(), kOurs);
  EXPECT_FALSE(newer.gives_up);
  EXPECT_FALSE(newer.adopts);
}

TEST(FloorTest, ANewerCheckpointOfAnotherHistoryIsNotLoaded) {
  const ResumeDecision decision =
      Decide(Sees({Ref(9000, 9, kOther), Ref(4200, 3), Ref(4000, 3)}), At(4200));
  EXPECT_EQ(decision.point.version().step(), 4200);
}

TEST(FloorTest, ADamagedOneIsLeftForAnOlderOneOfItsHistoryAndTheLossIsNamed) {
  ResumeOptions options = At(4200);
  options.bad_checkpoints = {"step-4200"};
  const ResumeDecision decision =
      Decide(Sees({Ref(4200, 3), Ref(4100, 9, kOther), Ref(4000, 3)}), options);
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpointOlder);
  EXPECT_EQ(decision.point.version().step(), 4000);
  EXPECT_TRUE(decision.gives_up);
  ASSERT_TRUE(decision.kept.has_value());
  EXPECT_EQ(decision.kept->version().step(), 4000);
  EXPECT_THAT(decision.sentence, HasSubstr("loading step-4000: 200 steps are lost"));
}

TEST(FloorTest, AMissingOneIsLeftForAnOlderOneToo) {
  const ResumeDecision decision = Decide(Sees({Ref(4000, 3)}), At(4200));
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpointOlder);
  EXPECT_TRUE(decision.gives_up);
}

TEST(FloorTest, OnDamageHoldWaitsForTheOwner) {
  ResumeOptions options = At(4200);
  options.hold_on_damage = true;
  const ResumeDecision held = Decide(Sees({Ref(4000, 3)}), options);
  EXPECT_EQ(held.reason, ResumeReason::kCheckpointLost);
  EXPECT_TRUE(held.holds());
  EXPECT_THAT(held.sentence, HasSubstr("step 4200 of history 00000000000000aa"));
  EXPECT_THAT(held.sentence, HasSubstr("there is step-4000, 200 steps before it"));
  EXPECT_THAT(held.sentence, HasSubstr("giveUp: \"4200@00000000000000aa\""));
  const ResumeDecision on = Decide(Sees({Ref(4000, 3)}), GivenUp(options));
  EXPECT_EQ(on.reason, ResumeReason::kCheckpointOlder);
  EXPECT_TRUE(on.gives_up);
}

TEST(FloorTest, AnEmptyDirectoryHoldsTheJobInsteadOfStartingItAtZero) {
  const ResumeDecision held = Decide(Sees({}), At(4200));
  EXPECT_EQ(held.reason, ResumeReason::kCheckpointLost);
  EXPECT_TRUE(held.holds());
  EXPECT_THAT(held.sentence, HasSubstr("which no rank finds"));
  EXPECT_THAT(held.sentence, HasSubstr("to go on from initial weights instead"));
}

TEST(FloorTest, OnlyForeignCheckpointsHoldTheJob) {
  const ResumeDecision held = Decide(Sees({Ref(60, 2, kOther)}), At(4200));
  EXPECT_EQ(held.reason, ResumeReason::kCheckpointLost);
  EXPECT_THAT(held.sentence, HasSubstr("step-60 of history 00000000000000bb"));
}

TEST(FloorTest, InitialWeightsNeedTheOwnersWordAndBeginANewHistory) {
  const ResumeDecision decision = Decide(Sees({Ref(60, 2, kOther)}), GivenUp(At(4200)));
  EXPECT_EQ(decision.reason, ResumeReason::kFreshGivenUp);
  EXPECT_EQ(decision.point.source(), ResumePoint::FRESH);
  EXPECT_EQ(decision.point.history(), kNew);
  EXPECT_TRUE(decision.gives_up);
  EXPECT_FALSE(decision.kept.has_value());
  EXPECT_THAT(decision.sentence, HasSubstr("4200 steps are lost"));
}

TEST(FloorTest, TheOwnersWordIsVoidOnceTheFloorHasMoved) {
  ResumeOptions options = At(4400);
  for (const char* word : {"4200@00000000000000aa", "4400@00000000000000bb", "", "4400@"}) {
    options.give_up = word;
    EXPECT_TRUE(Decide(Sees({}), options).holds()) << word;
  }
}

TEST(FloorTest, TheOwnersWordTakesTheBestThereIs) {
  RankPosition stale = Live(4150, 3, {Ref(4000, 3)});
  const ResumeDecision live = Decide(stale, GivenUp(At(4200)));
  EXPECT_EQ(live.point.source(), ResumePoint::LIVE);
  EXPECT_EQ(live.point.version().step(), 4150);
  EXPECT_TRUE(live.gives_up);
  ASSERT_TRUE(live.kept.has_value());
  EXPECT_EQ(live.kept->version().step(), 4000) << "what is on disk is the floor from now on";
  EXPECT_EQ(Decide(stale, At(4200)).point.version().step(), 4150) << "without it too: UseOlder";
}

TEST(FloorTest, AnotherOptimizerHoldsTheJobInsteadOfTrainingAgain) {
  const std::string why = "it has no head.momentum";
  const RankPosition sees = Sees({Ref(40, 1, kOurs, why), Ref(20, 1, kOurs, why)});
  for (const ResumeOptions& options : {At(40), ResumeOptions()}) {
    const ResumeDecision held = Decide(sees, options);
    EXPECT_EQ(held.reason, ResumeReason::kCheckpointMismatch);
    EXPECT_TRUE(held.holds());
    EXPECT_THAT(held.sentence, HasSubstr(why));
    EXPECT_THAT(held.sentence, HasSubstr("giveUp: \"40@00000000000000aa\""));
  }
  EXPECT_EQ(Decide(sees, GivenUp(At(40))).reason, ResumeReason::kFreshGivenUp);
}

TEST(FloorTest, AMismatchOnOneRankIsEnough) {
  const ResumeDecision held =
      DecideResume({Sees({Ref(40, 1)}), Sees({Ref(40, 1, kOurs, "other data")})}, At(40));
  EXPECT_EQ(held.reason, ResumeReason::kCheckpointMismatch);
}

TEST(FloorTest, AnOlderOneOfAnotherModelIsNoWayOut) {
  const ResumeDecision held = Decide(Sees({Ref(20, 1, kOurs, "n_layer")}), At(40));
  EXPECT_EQ(held.reason, ResumeReason::kCheckpointLost);
}

TEST(FloorTest, AnUnlistableDirectoryHoldsTheJobWhateverItsOwnerSays) {
  RankPosition blind;
  blind.set_listing_error("/ck: cannot list: Input/output error");
  for (const ResumeOptions& options : {At(4200), GivenUp(At(4200)), At(0), ResumeOptions()}) {
    const ResumeDecision held = DecideResume({Sees({Ref(4200, 3)}), blind}, options);
    EXPECT_EQ(held.reason, ResumeReason::kCheckpointUnlistable);
    EXPECT_TRUE(held.holds());
    EXPECT_THAT(held.sentence, HasSubstr("rank 1: /ck: cannot list: Input/output error"));
  }
}

TEST(FloorTest, OneThatSomeRanksDoNotSeeHoldsTheJobAlthoughAnOlderOneIsThere) {
  const ResumeDecision held =
      DecideResume({Sees({Ref(4200, 3), Ref(4000, 3)}), Sees({Ref(4000, 3)})}, At(4200));
  EXPECT_EQ(held.reason, ResumeReason::kCheckpointHidden);
  EXPECT_TRUE(held.holds());
}

TEST(FloorTest, AJobThatNeverSavedStartsFreshAndIgnoresWhatOthersLeft) {
  const ResumeDecision decision = Decide(Sees({Ref(60, 9, kOther)}), At(0));
  EXPECT_EQ(decision.reason, ResumeReason::kFresh);
  EXPECT_EQ(decision.point.history(), kNew);
}

TEST(FloorTest, ACheckpointThatTheStatusDoesNotNameYetIsUsed) {
  const ResumeDecision decision = Decide(Sees({Ref(60, 9, kOther), Ref(10, 1)}), At(0));
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpoint);
  EXPECT_EQ(decision.point.version().step(), 10);
  EXPECT_FALSE(decision.adopts);
}

TEST(FloorTest, ANewJobGoesOnFromWhatAnEarlierOneOfItsNameLeftAndSaysSo) {
  ResumeOptions none;
  none.new_history = kNew;
  const ResumeDecision decision = Decide(Sees({Ref(60, 9), Ref(40, 9)}), none);
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpoint);
  EXPECT_TRUE(decision.adopts);
  EXPECT_EQ(decision.point.history(), kOurs);
}

TEST(FloorTest, CheckpointsWithoutAHistoryAreOfOneUnnamedRun) {
  const ResumeDecision decision = Decide(Sees({Ref(60, 9, "")}), At(60, ""));
  EXPECT_EQ(decision.reason, ResumeReason::kCheckpoint);
  EXPECT_EQ(decision.point.history(), kUnnamedHistory);
  EXPECT_EQ(FloorText({60, ""}), "60@0000000000000000");
  EXPECT_EQ(Decide(Sees({Ref(60, 9, "")}), At(60)).reason, ResumeReason::kCheckpointLost);
  EXPECT_EQ(Decide(Live(70, 9, {}, ""), At(60, "")).point.source(), ResumePoint::LIVE);
}

// Returns every combination of at most one checkpoint of each column, with and without live state,
// and one position whose directory could not be listed.
std::vector<RankPosition> EverySight() {
  const std::vector<std::vector<CheckpointRef>> columns = {
      {Ref(20, 1), Ref(20, 1, kOurs, "another")},
      {Ref(40, 1), Ref(40, 2, kOther), Ref(40, 1, kOurs, "another")},
      {Ref(60, 3), Ref(60, 3, kOther)}};
  std::vector<std::vector<CheckpointRef>> sights = {{}};
  for (const auto& column : columns) {
    const auto before = sights;
    for (const CheckpointRef& ref : column) {
      for (std::vector<CheckpointRef> sight : before) {
        sight.push_back(ref);
        sights.push_back(std::move(sight));
      }
    }
  }
  std::vector<RankPosition> all;
  for (const auto& sight : sights) {
    all.push_back(Sees(sight));
    for (const int64_t step : {30, 50}) all.push_back(Live(step, 3, sight));
    all.push_back(Live(50, 4, sight, kOther));
  }
  RankPosition blind;
  blind.set_listing_error("no");
  all.push_back(blind);
  return all;
}

void CheckDecision(const ResumeDecision& decision, const Floor& floor, bool given_up, bool hold) {
  if (decision.holds() || floor.step == 0) return;
  const ResumePoint& point = decision.point;
  const bool below = point.version().step() < floor.step || point.history() != floor.history;
  ASSERT_EQ(decision.gives_up, below) << point.ShortDebugString();
  if (!below) return;
  const bool older = point.history() == floor.history;
  ASSERT_TRUE(given_up || (older && !hold)) << point.ShortDebugString();
  if (decision.kept) {
    ASSERT_EQ(decision.kept->history(), floor.history);
    ASSERT_LE(decision.kept->version().step(), point.version().step());
  }
}

TEST(FloorExhaustiveTest, NoDecisionGoesBelowItWithoutAWarningOrTheOwnersWord) {
  const std::vector<RankPosition> sights = EverySight();
  int decisions = 0, held = 0, gave_up = 0;
  for (const RankPosition& a : sights) {
    for (const RankPosition& b : sights) {
      for (const int64_t step : {0, 40, 60}) {
        for (int variant = 0; variant < 8; ++variant) {
          ResumeOptions options = At(step);
          options.hold_on_damage = (variant & 1) != 0;
          if ((variant & 2) != 0) options = GivenUp(options);
          if ((variant & 4) != 0) options.bad_checkpoints = {"step-60", "step-40"};
          const ResumeDecision decision = DecideResume({a, b}, options);
          CheckDecision(decision, *options.floor, (variant & 2) != 0, (variant & 1) != 0);
          if (testing::Test::HasFatalFailure()) {
            FAIL() << a.ShortDebugString() << " | " << b.ShortDebugString() << " floor " << step
                   << " variant " << variant;
          }
          ASSERT_EQ(decision.reason, DecideResume({b, a}, options).reason);
          ++decisions;
          held += decision.holds();
          gave_up += decision.gives_up;
        }
      }
    }
  }
  // The search covers decisions of both kinds.
  EXPECT_GT(held, decisions / 10);
  EXPECT_LT(held, decisions * 9 / 10);
  EXPECT_GT(gave_up, 0);
}

// Decides twenty times for 16,000 ranks that see three checkpoints each. An algorithm that looks at
// every rank for every checkpoint of every rank takes ten minutes for that.
TEST(FloorTest, ItTakesTimeLinearInRanksAndCheckpoints) {
  std::vector<RankPosition> positions(16'000, Sees({Ref(60, 3), Ref(40, 3), Ref(20, 3)}));
  for (RankPosition& position : positions) {
    position.mutable_applied()->set_step(50);
    position.mutable_sealed()->set_step(51);
    position.set_history(kOurs);
  }
  positions.back().clear_checkpoints();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(DecideResume(positions, At(60)).reason, ResumeReason::kCheckpointHidden);
  }
}

}  // namespace
}  // namespace muster::control
