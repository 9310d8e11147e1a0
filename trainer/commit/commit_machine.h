#ifndef MUSTER_TRAINER_COMMIT_COMMIT_MACHINE_H_
#define MUSTER_TRAINER_COMMIT_COMMIT_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::trainer {

// How a rank reaches the resume point of a round.
struct RestorePlan {
  enum class Action {
    kKeep,        // already there
    kApplyRelay,  // BeginApply and EndApply of `relay`
    kReceive,     // from rank `donor`
    kLoad,        // `checkpoint`
    kLoadCopy,    // this rank's copy of `version`
    kInitialize,  // from the seed
  };
  Action action = Action::kKeep;
  v1alpha1::Version version;  // the resume point
  v1alpha1::StepDecision relay;
  int donor = 0;
  v1alpha1::CheckpointRef checkpoint;
};

// clang-format off
// The commit protocol on one rank: the version of its weights, whether it holds sealed gradients,
// the decisions it saw, and the round it obeys. It moves no tensor: its driver reports each event,
// and a report that would break the protocol is refused (FailedPrecondition, nothing changed).
//
//   kHolding --Go--> kReady --BeginStep--> kComputing --Seal--> kSealed --VoteSent--> kVoted
//       |                                                                               | Decide
//       |--Go--> kRestoring --Restored--> kReady                                        v
//       '--Go with a relay--------------------------------------------------------> kDecided
//
//   kDecided --BeginApply--> kApplying --EndApply--> kReady
//
// Where the ranks confirm the update after the vote, because the optimizer prepares it together,
// three states stand between kVoted and kDecided:
//
//   kVoted --Decide--> kPreparing --Prepared--> kPrepared --ConfirmSent--> kConfirming
//   kConfirming --Confirm--> kDecided
//
// Position() then shows gradients as sealed only once their update is prepared, and a decision as
// seen only once it is confirmed. A rank that applied a step thus knows that every rank had
// prepared it, and only such ranks are sent a relayed decision.
//
// Prepare leads from every state but kApplying (finish first: Apply is local) to kHolding, and
// keeps the weights' version, sealed gradients, and decisions. Lose() leads there from kApplying
// and kRestoring too, without any usable weights; AbandonApply() from kApplying, with the previous
// weights and without sealed gradients.
//
// Invariants: the version in Position() is that of whole weights; sealed gradients were computed
// from exactly those weights; decisions are of this rank's own history, at most one step ahead of
// it. Pure; copyable; not thread-safe.
// clang-format on
class CommitMachine {
 public:
  enum class State {
    kHolding,
    kRestoring,
    kReady,
    kComputing,
    kSealed,
    kVoted,
    kPreparing,
    kPrepared,
    kConfirming,
    kDecided,
    kApplying,
  };

  explicit CommitMachine(bool confirms = false) : confirms_(confirms) {}

  State state() const { return state_; }
  bool confirms() const { return confirms_; }
  const v1alpha1::RoundId& round() const { return round_; }
  const std::optional<v1alpha1::Version>& applied() const { return applied_; }
  // Identifies the run, from its initial weights on, that applied() belongs to.
  const std::string& history() const { return history_; }
  const std::optional<v1alpha1::Version>& sealed() const { return sealed_; }
  // The newest comes first; there are at most two.
  const std::vector<v1alpha1::StepDecision>& decisions() const { return decisions_; }

  // Begins to obey `round`; refused unless it is newer than every round prepared before.
  absl::Status Prepare(const v1alpha1::RoundId& round);
  // Returns this rank's position, except for its checkpoints.
  v1alpha1::RankPosition Position() const;
  // Refused unless it is for the round prepared last, once. If the plan replaces the weights, they
  // count as lost from here until Restored.
  absl::StatusOr<RestorePlan> Go(const v1alpha1::RoundId& round, int rank,
                                 const v1alpha1::ResumePoint& resume);
  // Call when the plan's kReceive, kLoad, kLoadCopy or kInitialize is carried out.
  absl::Status Restored();
  // Goes on from `version`, which this process holds, without an operator (for benchmarks and
  // tests).
  absl::Status StartAlone(const v1alpha1::Version& version, const v1alpha1::RoundId& round,
                          int64_t attempt);

  // Returns the version that the step under way, or the next one, will have.
  v1alpha1::Version next() const;
  // Call before the gradients are overwritten.
  absl::Status BeginStep();
  // Call when the gradients are complete and reduced, after a successful Wait.
  absl::Status Seal();
  // Call when this rank can no longer withdraw its vote.
  absl::Status VoteSent();
  // Takes the vote's outcome; refused if it is of another round or version.
  absl::Status Decide(const v1alpha1::StepDecision& decision);
  // The outcome of the vote, while the update that it decided is prepared and confirmed.
  const v1alpha1::StepDecision& voted() const { return voted_; }
  // Call when the update is prepared, in memory that stays until the next step begins.
  absl::Status Prepared();
  // Call when this rank can no longer withdraw its confirmation.
  absl::Status ConfirmSent();
  // Takes what the ranks confirmed; refused if it is of another round or version.
  absl::Status Confirm(const v1alpha1::StepDecision& decision);
  // Carry out decisions()[0] between these two calls. Nothing may fail there unless the weights
  // stay unchanged until EndApply().
  absl::Status BeginApply();
  absl::Status EndApply();
  // Call in place of EndApply() if the update failed and the weights are unchanged. The sealed
  // gradients are dropped.
  absl::Status AbandonApply();

  // Call when the sealed gradients can no longer be applied, because this rank holds another slice.
  void DropSealed();
  // Call when the weights are torn, for example by an update that failed halfway.
  void Lose();

 private:
  absl::Status Expect(State state, const char* what) const;
  absl::Status CheckCanKeep(const v1alpha1::ResumePoint& resume) const;
  absl::Status CheckIsOfThisStep(const v1alpha1::StepDecision& decision) const;
  // Returns the version that this rank reaches by a relayed decision.
  std::optional<v1alpha1::Version> applicable() const {
    return confirms_ && !prepared_ ? std::nullopt : sealed_;
  }
  void Remember(const v1alpha1::StepDecision& decision);
  void EnterRound();

  bool confirms_;
  State state_ = State::kHolding;
  v1alpha1::RoundId round_;   // the newest round that was prepared
  v1alpha1::RoundId joined_;  // the newest round with live weights: see RankPosition.round
  bool live_ = false;         // a step was applied since the weights were loaded or initialised
  std::string history_;
  std::optional<v1alpha1::Version> applied_, sealed_;
  bool prepared_ = false;  // the update of the sealed gradients
  v1alpha1::StepDecision voted_;
  std::vector<v1alpha1::StepDecision> decisions_;
  v1alpha1::Version target_;  // the version that the plan under way leads to
  int64_t attempt_ = 0;       // the attempt of all steps of this round
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_COMMIT_MACHINE_H_
