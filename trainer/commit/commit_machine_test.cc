#include "trainer/commit/commit_machine.h"

#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::trainer {
namespace {

using State = CommitMachine::State;
using v1alpha1::ResumePoint;
using v1alpha1::RoundId;
using v1alpha1::StepDecision;
using v1alpha1::Version;

RoundId Round(int64_t term, int64_t round) { return v1alpha1::MakeRoundId(term, round); }
Version At(int64_t step, int64_t attempt) {
  Version version;
  version.set_step(step);
  version.set_attempt(attempt);
  return version;
}
StepDecision Decision(const Version& version, const RoundId& round) {
  StepDecision decision;
  *decision.mutable_version() = version;
  decision.set_term(round.term());
  decision.set_round(round.round());
  decision.set_apply(true);
  return decision;
}
ResumePoint Resume(ResumePoint::Source source, const Version& version, int64_t attempt) {
  ResumePoint resume;
  resume.set_source(source);
  *resume.mutable_version() = version;
  resume.set_next_attempt(attempt);
  return resume;
}
std::string Text(const std::optional<Version>& version) {
  return version ? version->ShortDebugString() : "none";
}

// Returns a rank of round 1 that has applied `steps` steps.
CommitMachine Stepped(int steps) {
  CommitMachine machine;
  EXPECT_TRUE(machine.Prepare(Round(1, 1)).ok());
  EXPECT_TRUE(machine.Go(Round(1, 1), 0, Resume(ResumePoint::FRESH, At(0, 0), 1)).ok());
  EXPECT_TRUE(machine.Restored().ok());
  for (int step = 1; step <= steps; ++step) {
    EXPECT_TRUE(machine.BeginStep().ok());
    EXPECT_TRUE(machine.Seal().ok());
    EXPECT_TRUE(machine.VoteSent().ok());
    EXPECT_TRUE(machine.Decide(Decision(At(step, 1), Round(1, 1))).ok());
    EXPECT_TRUE(machine.BeginApply().ok());
    EXPECT_TRUE(machine.EndApply().ok());
  }
  return machine;
}
// Returns such a rank that has also voted on the next step.
CommitMachine Voted(int steps) {
  CommitMachine machine = Stepped(steps);
  EXPECT_TRUE(machine.BeginStep().ok());
  EXPECT_TRUE(machine.Seal().ok());
  EXPECT_TRUE(machine.VoteSent().ok());
  return machine;
}

TEST(CommitMachineTest, AFreshProcessHoldsNothing) {
  EXPECT_EQ(CommitMachine().Position().ShortDebugString(), "");
  EXPECT_EQ(CommitMachine().state(), State::kHolding);
}

TEST(CommitMachineTest, PositionNamesWeightsAndTheLastTwoDecisions) {
  const CommitMachine machine = Stepped(3);
  EXPECT_EQ(machine.state(), State::kReady);
  const v1alpha1::RankPosition position = machine.Position();
  EXPECT_EQ(position.applied().ShortDebugString(), "step: 3 attempt: 1");
  EXPECT_FALSE(position.has_sealed());
  ASSERT_EQ(position.decisions_size(), 2);
  EXPECT_EQ(position.decisions(0).version().step(), 3);
  EXPECT_EQ(position.decisions(1).version().step(), 2);
  EXPECT_EQ(position.round(), 1);
}

TEST(CommitMachineTest, SealedGradientsOutliveThePrepareThatInterrupts) {
  CommitMachine machine = Voted(1);
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  EXPECT_EQ(Text(machine.sealed()), "step: 2 attempt: 1");
  EXPECT_EQ(Text(machine.applied()), "step: 1 attempt: 1");
  EXPECT_EQ(machine.VoteSent().message(), "cannot vote while holding, only while sealed");
}

TEST(CommitMachineTest, GradientsUnderWayAreNotSealed) {
  CommitMachine machine = Stepped(1);
  ASSERT_TRUE(machine.BeginStep().ok());
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  EXPECT_FALSE(machine.Position().has_sealed());
}

TEST(CommitMachineTest, ARelayedDecisionIsAppliedFromSealedGradients) {
  CommitMachine machine = Voted(1);
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  ResumePoint resume = Resume(ResumePoint::LIVE, At(2, 1), 2);
  *resume.mutable_relay() = Decision(At(2, 1), Round(1, 1));
  const auto plan = machine.Go(Round(1, 2), 0, resume);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->action, RestorePlan::Action::kApplyRelay);
  ASSERT_TRUE(machine.BeginApply().ok());
  ASSERT_TRUE(machine.EndApply().ok());
  EXPECT_EQ(machine.state(), State::kReady);
  EXPECT_EQ(machine.next().ShortDebugString(), "step: 3 attempt: 2");
}

TEST(CommitMachineTest, ARelayOfAnotherAttemptIsRefused) {
  CommitMachine machine = Voted(1);
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  ResumePoint resume = Resume(ResumePoint::LIVE, At(2, 7), 8);
  *resume.mutable_relay() = Decision(At(2, 7), Round(1, 1));
  EXPECT_EQ(
      machine.Go(Round(1, 2), 0, resume).status(),
      absl::FailedPreconditionError(
          "cannot go on from step 2 (attempt 7): this rank holds step 1 (attempt 1) and sealed "
          "gradients of step 2 (attempt 1)"));
  EXPECT_EQ(Text(machine.applied()), "step: 1 attempt: 1");
}

TEST(CommitMachineTest, AStepThatNobodyDecidedIsRedoneUnderAnotherAttempt) {
  CommitMachine machine = Voted(1);
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  ASSERT_TRUE(machine.Go(Round(1, 2), 0, Resume(ResumePoint::LIVE, At(1, 1), 2)).ok());
  EXPECT_EQ(Text(machine.sealed()), "step: 2 attempt: 1");  // until it is overwritten
  ASSERT_TRUE(machine.BeginStep().ok());
  EXPECT_EQ(Text(machine.sealed()), "none");
  ASSERT_TRUE(machine.Seal().ok());
  EXPECT_EQ(Text(machine.sealed()), "step: 2 attempt: 2");
}

TEST(CommitMachineTest, DecisionsAheadOfTheResumePointAreForgotten) {
  CommitMachine machine = Voted(1);
  ASSERT_TRUE(machine.Decide(Decision(At(2, 1), Round(1, 1))).ok());
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());  // before its first write
  ASSERT_TRUE(machine.Go(Round(1, 2), 0, Resume(ResumePoint::LIVE, At(1, 1), 2)).ok());
  ASSERT_EQ(machine.decisions().size(), 1u);
  EXPECT_EQ(machine.decisions()[0].version().step(), 1);
}

TEST(CommitMachineTest, AReceiverHoldsNothingUntilItHasReceived) {
  CommitMachine machine = Stepped(2);
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  ResumePoint resume = Resume(ResumePoint::LIVE, At(9, 4), 5);
  resume.set_donor(1);
  resume.add_receivers(0);
  const auto plan = machine.Go(Round(1, 2), 0, resume);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->action, RestorePlan::Action::kReceive);
  EXPECT_EQ(plan->donor, 1);
  CommitMachine interrupted = machine;
  ASSERT_TRUE(interrupted.Prepare(Round(1, 3)).ok());
  EXPECT_EQ(interrupted.Position().ShortDebugString(), "");
  ASSERT_TRUE(machine.Restored().ok());
  EXPECT_EQ(machine.Position().ShortDebugString(),
            "applied { step: 9 attempt: 4 } term: 1 round: 2");
}

TEST(CommitMachineTest, LoadedWeightsClaimNoRoundUntilAStepIsApplied) {
  CommitMachine machine;
  ASSERT_TRUE(machine.Prepare(Round(1, 4)).ok());
  ASSERT_TRUE(machine.Go(Round(1, 4), 0, Resume(ResumePoint::CHECKPOINT, At(10, 2), 4)).ok());
  ASSERT_TRUE(machine.Restored().ok());
  EXPECT_EQ(machine.Position().ShortDebugString(), "applied { step: 10 attempt: 2 }");
}

TEST(CommitMachineTest, ARoundFromMemoryIsKeptLoadedOrReceived) {
  ResumePoint resume = Resume(ResumePoint::MEMORY, At(10, 2), 4);
  resume.add_receivers(1);
  CommitMachine fresh;
  ASSERT_TRUE(fresh.Prepare(Round(1, 4)).ok());
  EXPECT_EQ(fresh.Go(Round(1, 4), 0, resume)->action, RestorePlan::Action::kLoadCopy);
  ASSERT_TRUE(fresh.Restored().ok());
  EXPECT_EQ(fresh.Position().ShortDebugString(), "applied { step: 10 attempt: 2 }")
      << "as loaded: it claims no round";
  CommitMachine receiver;
  ASSERT_TRUE(receiver.Prepare(Round(1, 4)).ok());
  EXPECT_EQ(receiver.Go(Round(1, 4), 1, resume)->action, RestorePlan::Action::kReceive);
  // A rank that lived on holds that version already.
  ASSERT_TRUE(fresh.Prepare(Round(1, 5)).ok());
  EXPECT_EQ(fresh.Go(Round(1, 5), 0, resume)->action, RestorePlan::Action::kKeep);
}

TEST(CommitMachineTest, ARankAheadOfTheCopiesGivesUpItsWeights) {
  CommitMachine machine = Stepped(5);
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  EXPECT_EQ(machine.Go(Round(1, 2), 0, Resume(ResumePoint::MEMORY, At(3, 1), 2))->action,
            RestorePlan::Action::kLoadCopy);
  EXPECT_EQ(Text(machine.applied()), "none");
  ASSERT_TRUE(machine.Restored().ok());
  EXPECT_EQ(Text(machine.applied()), "step: 3 attempt: 1");
}

TEST(CommitMachineTest, ADecisionOfAnotherRoundTermOrVersionIsRefused) {
  CommitMachine machine = Voted(1);
  for (const StepDecision& wrong :
       {Decision(At(2, 1), Round(1, 2)), Decision(At(2, 1), Round(2, 1)),
        Decision(At(2, 2), Round(1, 1)), Decision(At(3, 1), Round(1, 1))}) {
    EXPECT_EQ(machine.Decide(wrong).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(machine.state(), State::kVoted);
  }
  EXPECT_EQ(machine.Decide(Decision(At(2, 1), Round(1, 2))).message(),
            "a decision on step 2 (attempt 1) in round 2 of term 1 is refused: this rank voted on "
            "step 2 (attempt 1) in round 1 of term 1");
}

TEST(CommitMachineTest, AnOldOperatorIsRefused) {
  CommitMachine machine = Stepped(1);
  ASSERT_TRUE(machine.Prepare(Round(2, 2)).ok());
  EXPECT_EQ(machine.Prepare(Round(1, 9)),
            absl::FailedPreconditionError("round 9 of term 1 is not newer than round 2 of term 2"));
  EXPECT_EQ(machine.Prepare(Round(2, 2)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(machine.Go(Round(1, 9), 0, Resume(ResumePoint::FRESH, At(0, 0), 9)).status().message(),
            "cannot go in round 9 of term 1: this rank is prepared for round 2 of term 2");
  EXPECT_EQ(Text(machine.applied()), "step: 1 attempt: 1");
}

TEST(CommitMachineTest, AnUpdateBeingWrittenIsEndedBeforeAnythingElse) {
  CommitMachine machine = Voted(1);
  ASSERT_TRUE(machine.Decide(Decision(At(2, 1), Round(1, 1))).ok());
  ASSERT_TRUE(machine.BeginApply().ok());
  EXPECT_EQ(machine.Prepare(Round(1, 2)).message(),
            "an update is being written and must end before a new round is prepared");
  machine.Lose();  // the update could not be ended
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  EXPECT_EQ(machine.Position().ShortDebugString(), "");
}

TEST(CommitMachineTest, AnAbandonedUpdateLeavesTheWeightsOfBeforeWithoutGradients) {
  CommitMachine machine = Voted(1);
  EXPECT_EQ(machine.AbandonApply().message(),
            "cannot abandon an update while voted, only while applying");
  ASSERT_TRUE(machine.Decide(Decision(At(2, 1), Round(1, 1))).ok());
  ASSERT_TRUE(machine.BeginApply().ok());
  ASSERT_TRUE(machine.AbandonApply().ok());
  EXPECT_EQ(machine.state(), State::kHolding);
  EXPECT_EQ(Text(machine.applied()), "step: 1 attempt: 1");
  EXPECT_FALSE(machine.Position().has_sealed());
  // The decision is known still, for ranks that can carry it out.
  ASSERT_EQ(machine.Position().decisions_size(), 2);
  EXPECT_EQ(machine.Position().decisions(0).version().step(), 2);
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  const auto plan = machine.Go(Round(1, 2), 0, Resume(ResumePoint::LIVE, At(1, 1), 2));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->action, RestorePlan::Action::kKeep);
}

TEST(CommitMachineTest, NothingIsAppliedWithoutADecision) {
  CommitMachine machine = Voted(1);
  EXPECT_EQ(machine.BeginApply().message(), "cannot apply while voted, only while decided");
  EXPECT_EQ(machine.EndApply().message(), "cannot have applied while voted, only while applying");
  EXPECT_EQ(machine.BeginStep().message(), "cannot begin a step while voted, only while ready");
}

TEST(CommitMachineTest, ARoundWithoutAStateToGoOnFromIsRefused) {
  CommitMachine machine = Stepped(1);
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  EXPECT_EQ(machine.Go(Round(1, 2), 0, ResumePoint()).status(),
            absl::InvalidArgumentError("the round names no state to go on from"));
  EXPECT_EQ(Text(machine.applied()), "step: 1 attempt: 1");
}

// Returns a rank whose optimizer prepares updates, and that has voted on step 1.
CommitMachine VotedToConfirm() {
  CommitMachine machine(true);
  EXPECT_TRUE(machine.Prepare(Round(1, 1)).ok());
  EXPECT_TRUE(machine.Go(Round(1, 1), 0, Resume(ResumePoint::FRESH, At(0, 0), 1)).ok());
  EXPECT_TRUE(machine.Restored().ok());
  EXPECT_TRUE(machine.BeginStep().ok());
  EXPECT_TRUE(machine.Seal().ok());
  EXPECT_TRUE(machine.VoteSent().ok());
  EXPECT_TRUE(machine.Decide(Decision(At(1, 1), Round(1, 1))).ok());
  return machine;
}

TEST(CommitMachineTest, AnUpdateThatMustBeConfirmedIsNotAppliedBefore) {
  CommitMachine machine = VotedToConfirm();
  EXPECT_EQ(machine.BeginApply().message(), "cannot apply while preparing, only while decided");
  EXPECT_TRUE(machine.Prepared().ok());
  EXPECT_FALSE(machine.BeginApply().ok());
  EXPECT_TRUE(machine.ConfirmSent().ok());
  EXPECT_FALSE(machine.BeginApply().ok());
  EXPECT_FALSE(machine.Confirm(Decision(At(2, 1), Round(1, 1))).ok()) << "of another step";
  EXPECT_TRUE(machine.Confirm(machine.voted()).ok());
  EXPECT_TRUE(machine.BeginApply().ok());
  EXPECT_TRUE(machine.EndApply().ok());
  EXPECT_EQ(machine.applied()->step(), 1);
}

TEST(CommitMachineTest, OnlyARankThatPreparedTakesARelayedDecision) {
  ResumePoint relayed = Resume(ResumePoint::LIVE, At(1, 1), 2);
  *relayed.mutable_relay() = Decision(At(1, 1), Round(1, 1));
  CommitMachine early = VotedToConfirm();
  ASSERT_TRUE(early.Prepare(Round(1, 2)).ok());
  EXPECT_FALSE(early.Position().has_sealed());
  EXPECT_EQ(early.Position().decisions_size(), 0) << "nobody may have confirmed it";
  EXPECT_FALSE(early.Go(Round(1, 2), 0, relayed).ok());

  CommitMachine prepared = VotedToConfirm();
  ASSERT_TRUE(prepared.Prepared().ok());
  ASSERT_TRUE(prepared.Prepare(Round(1, 2)).ok());
  EXPECT_EQ(prepared.Position().sealed().step(), 1);
  EXPECT_EQ(prepared.Position().decisions_size(), 0);
  const auto plan = prepared.Go(Round(1, 2), 0, relayed);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->action, RestorePlan::Action::kApplyRelay);
  EXPECT_TRUE(prepared.BeginApply().ok());
}

TEST(CommitMachineTest, DroppedGradientsCannotBeAppliedByARelay) {
  CommitMachine machine = Voted(1);
  machine.DropSealed();
  ASSERT_TRUE(machine.Prepare(Round(1, 2)).ok());
  EXPECT_FALSE(machine.Position().has_sealed());
}

}  // namespace
}  // namespace muster::trainer
