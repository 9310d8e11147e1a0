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

// What a rank has to do to come to the resume point of a round.
struct RestorePlan {
  enum class Action {
    kKeep,        // it is there
    kApplyRelay,  // BeginApply and EndApply of `relay`
    kReceive,     // from rank `donor`
    kLoad,        // `checkpoint`
    kInitialize,  // from the seed
  };
  Action action = Action::kKeep;
  v1alpha1::Version version;  // where it is then
  v1alpha1::StepDecision relay;
  int donor = 0;
  v1alpha1::CheckpointRef checkpoint;
};

// The commit protocol on one rank: which version its weights are, whether it holds sealed
// gradients, which decisions it saw, and which round it obeys. It moves no tensor; whoever drives
// it says what happened, and is refused (FailedPrecondition, nothing changed) what would break the
// protocol.
//
//   kHolding --Go--> kReady --BeginStep--> kComputing --Seal--> kSealed --VoteSent--> kVoted
//       \--Go--> kRestoring --Restored--^                                               | Decide
//        \--Go with a relay--> kDecided        kReady <--EndApply-- kApplying <--BeginApply--
//        kDecided
//
// Prepare leads from every state but kApplying (finish first: Apply is local) to kHolding, and
// keeps the weights' version, gradients that were sealed, and decisions. Lose() leads there from
// kApplying and kRestoring too, without any usable weights.
//
// Invariants: the version in Position() is that of whole weights; sealed gradients were computed
// from exactly those weights; decisions are of this rank's own history, at most one step ahead of
// it. Pure; copyable; not thread-safe.
class CommitMachine {
 public:
  enum class State {
    kHolding,
    kRestoring,
    kReady,
    kComputing,
    kSealed,
    kVoted,
    kDecided,
    kApplying,
  };

  State state() const { return state_; }
  const v1alpha1::RoundId& round() const { return round_; }
  const std::optional<v1alpha1::Version>& applied() const { return applied_; }
  // The run from initial weights on that applied() belongs to.
  const std::string& history() const { return history_; }
  const std::optional<v1alpha1::Version>& sealed() const { return sealed_; }
  // The newest first, at most two.
  const std::vector<v1alpha1::StepDecision>& decisions() const { return decisions_; }

  // Refused unless newer than every round prepared before.
  absl::Status Prepare(const v1alpha1::RoundId& round);
  // Where this rank stands, but for checkpoints.
  v1alpha1::RankPosition Position() const;
  // Refused unless it is for the round prepared last, once. The weights count as lost from here
  // until Restored where the plan replaces them.
  absl::StatusOr<RestorePlan> Go(const v1alpha1::RoundId& round, int rank,
                                 const v1alpha1::ResumePoint& resume);
  // The plan's kReceive, kLoad or kInitialize is carried out.
  absl::Status Restored();
  // Without an operator (benchmarks, tests): this process holds `version` and goes on from there.
  absl::Status StartAlone(const v1alpha1::Version& version, const v1alpha1::RoundId& round,
                          int64_t attempt);

  // The version that the step under way, or the next, will take.
  v1alpha1::Version next() const;
  // The gradients are about to be overwritten.
  absl::Status BeginStep();
  // They are complete and reduced: a successful Wait said so.
  absl::Status Seal();
  // This rank's part of the vote is out of its hands.
  absl::Status VoteSent();
  // The vote's outcome; refused if it is of another round or version.
  absl::Status Decide(const v1alpha1::StepDecision& decision);
  // Between these two nothing may fail; the decision to carry out is decisions()[0].
  absl::Status BeginApply();
  absl::Status EndApply();

  // The weights are torn.
  void Lose();

 private:
  absl::Status Expect(State state, const char* what) const;
  absl::Status CheckKeeps(const v1alpha1::ResumePoint& resume) const;
  void Remember(const v1alpha1::StepDecision& decision);
  void EnterRound();

  State state_ = State::kHolding;
  v1alpha1::RoundId round_;   // the newest prepared
  v1alpha1::RoundId joined_;  // the newest with live weights: see RankPosition.round
  bool live_ = false;         // a step was applied since the weights were loaded or initialised
  std::string history_;
  std::optional<v1alpha1::Version> applied_, sealed_;
  std::vector<v1alpha1::StepDecision> decisions_;
  v1alpha1::Version target_;  // of the plan under way
  int64_t attempt_ = 0;       // of all steps of this round
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_COMMIT_MACHINE_H_
