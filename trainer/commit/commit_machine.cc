#include "trainer/commit/commit_machine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/muster/v1alpha1/round_id.h"
#include "trainer/commit/version.h"

namespace muster::trainer {
namespace {

using v1alpha1::ResumePoint;
using v1alpha1::RoundId;
using v1alpha1::StepDecision;
using v1alpha1::Version;

std::string Text(const RoundId& round) {
  return absl::StrCat("round ", round.round(), " of term ", round.term());
}
std::string Text(const std::optional<Version>& version) {
  return version ? ToText(*version) : std::string("nothing");
}

const char* Name(CommitMachine::State state) {
  switch (state) {
    case CommitMachine::State::kHolding:
      return "holding";
    case CommitMachine::State::kRestoring:
      return "restoring";
    case CommitMachine::State::kReady:
      return "ready";
    case CommitMachine::State::kComputing:
      return "computing";
    case CommitMachine::State::kSealed:
      return "sealed";
    case CommitMachine::State::kVoted:
      return "voted";
    case CommitMachine::State::kPreparing:
      return "preparing";
    case CommitMachine::State::kPrepared:
      return "prepared";
    case CommitMachine::State::kConfirming:
      return "confirming";
    case CommitMachine::State::kDecided:
      return "decided";
    case CommitMachine::State::kApplying:
      return "applying";
  }
  return "";
}

}  // namespace

absl::Status CommitMachine::Expect(State state, const char* what) const {
  if (state_ == state) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " while ", Name(state_), ", only while ", Name(state)));
}

absl::Status CommitMachine::Prepare(const RoundId& round) {
  if (!Less(round_, round)) {
    return absl::FailedPreconditionError(
        absl::StrCat(Text(round), " is not newer than ", Text(round_)));
  }
  if (state_ == State::kApplying) {
    return absl::FailedPreconditionError(
        "an update is being written and must end before a new round is prepared");
  }
  state_ = State::kHolding;
  round_ = round;
  return absl::OkStatus();
}

v1alpha1::RankPosition CommitMachine::Position() const {
  v1alpha1::RankPosition position;
  if (applied_) *position.mutable_applied() = *applied_;
  if (applied_) position.set_history(history_);
  if (applicable()) *position.mutable_sealed() = *applicable();
  for (const StepDecision& decision : decisions_) *position.add_decisions() = decision;
  position.set_term(joined_.term());
  position.set_round(joined_.round());
  return position;
}

// Returns OK if this rank is at the resume point, or one relayed decision before it.
absl::Status CommitMachine::CheckCanKeep(const ResumePoint& resume) const {
  if (applied_ && Same(*applied_, resume.version())) return absl::OkStatus();
  const std::optional<Version> reach = applicable();
  const bool can_apply =
      applied_ && reach && resume.has_relay() && Same(resume.relay().version(), resume.version()) &&
      Same(*reach, resume.version()) && applied_->step() + 1 == resume.version().step();
  if (can_apply) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot go on from ", ToText(resume.version()),
                                                    ": this rank holds ", Text(applied_),
                                                    " and sealed gradients of ", Text(reach)));
}

absl::StatusOr<RestorePlan> CommitMachine::Go(const RoundId& round, int rank,
                                              const ResumePoint& resume) {
  MUSTER_RETURN_IF_ERROR(Expect(State::kHolding, "go"));
  if (!Same(round, round_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot go in ", Text(round), ": this rank is prepared for ", Text(round_)));
  }
  RestorePlan plan{.version = resume.version()};
  const bool receives = std::count(resume.receivers().begin(), resume.receivers().end(), rank) > 0;
  const bool there = applied_ && Same(*applied_, resume.version());
  const bool from_ranks =
      resume.source() == ResumePoint::LIVE || resume.source() == ResumePoint::MEMORY;
  if (from_ranks && receives) {
    plan.action = RestorePlan::Action::kReceive;
  } else if (resume.source() == ResumePoint::LIVE) {
    MUSTER_RETURN_IF_ERROR(CheckCanKeep(resume));
    plan.action = there ? RestorePlan::Action::kKeep : RestorePlan::Action::kApplyRelay;
  } else if (resume.source() == ResumePoint::MEMORY) {
    plan.action = there ? RestorePlan::Action::kKeep : RestorePlan::Action::kLoadCopy;
  } else if (resume.source() == ResumePoint::CHECKPOINT) {
    plan.action = RestorePlan::Action::kLoad;
  } else if (resume.source() == ResumePoint::FRESH) {
    plan.action = RestorePlan::Action::kInitialize;
  } else {
    return absl::InvalidArgumentError("the round names no state to go on from");
  }
  plan.relay = resume.relay();
  plan.donor = resume.donor();
  plan.checkpoint = resume.checkpoint();
  target_ = resume.version();
  history_ = resume.history();
  attempt_ = resume.next_attempt();
  live_ = resume.source() == ResumePoint::LIVE && !resume.pristine();
  if (plan.action == RestorePlan::Action::kKeep) {
    EnterRound();
  } else if (plan.action == RestorePlan::Action::kApplyRelay) {
    Remember(resume.relay());
    state_ = State::kDecided;
  } else {
    Lose();
    state_ = State::kRestoring;
  }
  return plan;
}

// Forgets decisions ahead of the resume point: they belong to a history that is given up. Sealed
// gradients stay until they are overwritten: they may still serve if the round ends before its
// first step.
void CommitMachine::EnterRound() {
  if (live_) joined_ = round_;
  state_ = State::kReady;
  decisions_.erase(std::remove_if(decisions_.begin(), decisions_.end(),
                                  [&](const StepDecision& decision) {
                                    return decision.version().step() > applied_->step();
                                  }),
                   decisions_.end());
}

absl::Status CommitMachine::Restored() {
  MUSTER_RETURN_IF_ERROR(Expect(State::kRestoring, "have restored"));
  applied_ = target_;
  EnterRound();
  return absl::OkStatus();
}

absl::Status CommitMachine::StartAlone(const Version& version, const RoundId& round,
                                       int64_t attempt) {
  MUSTER_RETURN_IF_ERROR(Expect(State::kHolding, "start alone"));
  round_ = round;
  attempt_ = attempt;
  applied_ = version;
  EnterRound();
  return absl::OkStatus();
}

Version CommitMachine::next() const {
  Version version;
  version.set_step((applied_ ? applied_->step() : 0) + 1);
  version.set_attempt(attempt_);
  return version;
}

absl::Status CommitMachine::BeginStep() {
  MUSTER_RETURN_IF_ERROR(Expect(State::kReady, "begin a step"));
  DropSealed();
  state_ = State::kComputing;
  return absl::OkStatus();
}

absl::Status CommitMachine::Seal() {
  MUSTER_RETURN_IF_ERROR(Expect(State::kComputing, "seal gradients"));
  sealed_ = next();
  state_ = State::kSealed;
  return absl::OkStatus();
}

absl::Status CommitMachine::VoteSent() {
  MUSTER_RETURN_IF_ERROR(Expect(State::kSealed, "vote"));
  state_ = State::kVoted;
  return absl::OkStatus();
}

absl::Status CommitMachine::CheckIsOfThisStep(const StepDecision& decision) const {
  if (decision.term() != round_.term() || decision.round() != round_.round() ||
      !Same(decision.version(), next())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a decision on ", ToText(decision.version()), " in round ", decision.round(), " of term ",
        decision.term(), " is refused: this rank voted on ", ToText(next()), " in ", Text(round_)));
  }
  return absl::OkStatus();
}

absl::Status CommitMachine::Decide(const StepDecision& decision) {
  MUSTER_RETURN_IF_ERROR(Expect(State::kVoted, "decide"));
  MUSTER_RETURN_IF_ERROR(CheckIsOfThisStep(decision));
  if (confirms_) {
    voted_ = decision;
    state_ = State::kPreparing;
    return absl::OkStatus();
  }
  Remember(decision);
  state_ = State::kDecided;
  return absl::OkStatus();
}

absl::Status CommitMachine::Prepared() {
  MUSTER_RETURN_IF_ERROR(Expect(State::kPreparing, "have prepared"));
  prepared_ = true;
  state_ = State::kPrepared;
  return absl::OkStatus();
}

absl::Status CommitMachine::ConfirmSent() {
  MUSTER_RETURN_IF_ERROR(Expect(State::kPrepared, "confirm"));
  state_ = State::kConfirming;
  return absl::OkStatus();
}

absl::Status CommitMachine::Confirm(const StepDecision& decision) {
  MUSTER_RETURN_IF_ERROR(Expect(State::kConfirming, "have confirmed"));
  MUSTER_RETURN_IF_ERROR(CheckIsOfThisStep(decision));
  Remember(decision);
  state_ = State::kDecided;
  return absl::OkStatus();
}

void CommitMachine::Remember(const StepDecision& decision) {
  if (!decisions_.empty() && Same(decisions_.front().version(), decision.version())) return;
  decisions_.insert(decisions_.begin(), decision);
  if (decisions_.size() > 2) decisions_.resize(2);
}

absl::Status CommitMachine::BeginApply() {
  MUSTER_RETURN_IF_ERROR(Expect(State::kDecided, "apply"));
  state_ = State::kApplying;
  return absl::OkStatus();
}

absl::Status CommitMachine::EndApply() {
  MUSTER_RETURN_IF_ERROR(Expect(State::kApplying, "have applied"));
  applied_ = decisions_.front().version();
  DropSealed();
  live_ = true;
  EnterRound();
  return absl::OkStatus();
}

absl::Status CommitMachine::AbandonApply() {
  MUSTER_RETURN_IF_ERROR(Expect(State::kApplying, "abandon an update"));
  DropSealed();
  state_ = State::kHolding;
  return absl::OkStatus();
}

void CommitMachine::DropSealed() {
  sealed_.reset();
  prepared_ = false;
}

void CommitMachine::Lose() {
  applied_.reset();
  DropSealed();
  decisions_.clear();
  joined_.Clear();
  state_ = State::kHolding;
}

}  // namespace muster::trainer
