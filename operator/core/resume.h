#ifndef MUSTER_OPERATOR_CORE_RESUME_H_
#define MUSTER_OPERATOR_CORE_RESUME_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// From what a round goes on, decided from where every rank of it stands. Pure, and idempotent:
// equal positions give an equal decision, so an operator that dies while deciding changes nothing.
//
// Versions. A state is named (step, attempt). Every step voted on in one round carries that round's
// attempt, ResumePoint.next_attempt, which is greater than every attempt seen before; so equal
// versions mean equal bytes, and of two versions the one with the greater (attempt, step) belongs
// to the newer branch. A dead rank may have been the only one that saw a vote: what it applied
// then carries an attempt that nobody goes on from, and a zombie that returns with it is a
// receiver: among ranks with weights, only those whose last round is the newest set the target,
// because ranks that were missed may hold a branch that was given up.
//
// Histories. A history is one run from initial weights on. Its id is made with every fresh start,
// kept on every resume, and stands in every checkpoint; checkpoints without one, of before there
// were histories, count as those of one run (base/checkpoint/checkpoint_history.h).
//
// The floor. The job does not fall behind its newest known checkpoint unnoticed: live state or a
// checkpoint of its history at or beyond it is gone on from; an older one of its history is taken
// with a loss that is named, unless the job says Hold; for everything else the job's owner is
// asked. His word, ResumeOptions.give_up, names the floor, and so says nothing of the next one.
//
// What a rank must report (RankPosition): `applied` only if its weights and optimizer state are
// whole and of that version (absent while it is receiving or loading); `sealed` only if the fully
// reduced gradients of that version, computed from `applied`, are held unspoilt; in `decisions` the
// newest votes it saw complete.
namespace muster::control {

enum class ResumeReason {
  kFresh,       // no rank holds anything, nothing was ever saved: initial weights
  kLiveInStep,  // every rank holds the same version
  kLiveRelay,   // ranks with sealed gradients apply a decision that another rank saw or applied
  kLiveRedo,    // a step was under way and nobody knows its decision: it is redone
  kLiveBehind,  // some ranks hold older or foreign state, and receive
  kCheckpoint,  // the newest checkpoint that all ranks see, newer than any live state
  kCheckpointOlder,  // the floor cannot be loaded: the best that is left of its history
  kFreshGivenUp,     // the owner gave up the floor, and nothing is left of its history
  // No round: going on would silently throw work away, so the operator holds and asks again.
  kCheckpointHidden,      // the floor is there, but not every rank sees it
  kCheckpointLost,        // it is not there, or damaged
  kCheckpointMismatch,    // it is there, of another model, optimizer or data
  kCheckpointUnlistable,  // some rank could not list the directory: nothing is known
};
absl::string_view ResumeReasonName(ResumeReason reason);

// The newest checkpoint that the job is known to have, as status.checkpoint has it.
struct Floor {
  int64_t step = 0;  // 0: its history has begun, and nothing of it is saved
  std::string history;
};
// "4200@8f2c41d09be7a135": how the owner names it.
std::string FloorText(const Floor& floor);

struct ResumeOptions {
  // Directories that a rank could not load.
  std::set<std::string> bad_checkpoints;
  // next_attempt is at least this. The operator passes the round's number, which is never used
  // twice.
  int64_t min_attempt = 0;
  // Absent: the job has not begun yet. What it finds then was left by an earlier job of its name,
  // and the newest of that counts as its floor.
  std::optional<Floor> floor = std::nullopt;
  // checkpoint.onDamage is Hold.
  bool hold_on_damage = false;
  // checkpoint.giveUp.
  std::string give_up = "";
  // The id that a history gets if it begins now.
  std::string new_history = "";
};

struct ResumeDecision {
  // What goes into GoRound. source is SOURCE_UNSPECIFIED for the reasons that hold.
  v1alpha1::ResumePoint point;
  ResumeReason reason = ResumeReason::kFresh;
  std::string sentence;  // for people; also in point.reason, after the reason's name
  // The floor is given up: people are warned, and status.checkpoint names what `kept` is, or no
  // step if that is absent, before anybody acts on it.
  bool gives_up = false;
  std::optional<v1alpha1::CheckpointRef> kept;
  // The job goes on from what an earlier job of its name left.
  bool adopts = false;

  bool holds() const { return point.source() == v1alpha1::ResumePoint::SOURCE_UNSPECIFIED; }
};

// `positions` by rank of the new round, at least one. Guarantees:
//  - a version that every live rank has applied is never gone back from, unless it is behind the
//    floor;
//  - the result is at or beyond the floor, or gives_up, or holds();
//  - the result is a version that some rank holds, or can reach by applying `relay`; ranks that
//    neither hold it nor can apply `relay` are exactly `receivers`, in ascending order;
//  - donor is the lowest rank that is no receiver.
// Takes time linear in ranks x checkpoints.
ResumeDecision DecideResume(absl::Span<const v1alpha1::RankPosition> positions,
                            const ResumeOptions& options = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_H_
