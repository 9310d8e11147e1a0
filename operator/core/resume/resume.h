#ifndef MUSTER_OPERATOR_CORE_RESUME_RESUME_H_
#define MUSTER_OPERATOR_CORE_RESUME_RESUME_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// Decides the point from which a round resumes, given the position of every rank in it. Pure and
// idempotent: equal positions give equal decisions, so an operator that dies while deciding changes
// nothing.
//
// Versions. A state is named (step, attempt). Every step voted on in one round carries that round's
// attempt, ResumePoint.next_attempt, which is greater than every attempt seen before. So equal
// versions mean equal bytes, and of two versions the one with the greater (attempt, step) belongs
// to the newer branch. If the only rank that saw a vote dies, no round resumes from the version
// that it applied; if it returns with that version, it becomes a receiver. Among ranks with
// weights, only those whose last round is the newest set the target, because ranks that missed a
// round may hold a branch that was given up.
//
// Slices. Ranks may divide the state: each then holds its slice of every version. A version is live
// only if the slices of the ranks that hold it, or can reach it, cover all of it. Otherwise an
// older live version or a checkpoint is used, and the sentence says how many steps are lost.
//
// Copies. Ranks may have copies of older versions of their slice in their workers' memory, which
// outlive their processes. If no live version is whole, or the newest is older than what the copies
// of one version cover, every rank that has a copy of that version loads it, and the others
// receive. Copies count if they are of the floor's history and branch, and at or beyond it. A slice
// of that version that no rank has may be in a replica of a lost worker's copy (RankPosition.
// replicas): a rank of the worker that keeps it reads it, and sends it as if it held it.
//
// Histories. A history is one run from initial weights on. Its id is made at every fresh start,
// kept on every resume, and stored in every checkpoint. Checkpoints without an id, from before
// histories existed, count as those of one run (base/checkpoint/checkpoint_history.h).
//
// The floor. The job never falls behind its newest known checkpoint unnoticed. It resumes from live
// state, copies or a checkpoint of the floor's history at or beyond the floor. An older checkpoint
// of that history is used with a warning that names the loss, unless the job says Hold. In all
// other cases the job's owner is asked. The owner's answer, ResumeOptions.give_up, names the floor,
// so it does not apply to the next one.
//
// Positions. A rank reports (RankPosition) `applied` only if its weights and optimizer state are
// whole and of that version (absent while it is receiving or loading); `sealed` only if it holds,
// unspoilt, the fully reduced gradients of that version, computed from `applied`; and in
// `decisions` the newest votes that it saw complete.
namespace muster::control {

enum class ResumeReason {
  kFresh,       // no rank holds anything and nothing was ever saved: initial weights
  kLiveInStep,  // every rank holds the same version
  kLiveRelay,   // ranks with sealed gradients apply a decision that another rank saw or applied
  kLiveRedo,    // a step was under way and no rank knows its decision: it is redone
  kLiveBehind,  // some ranks hold older or foreign state, and receive
  kMemory,      // the copies of a version in memory, newer than any live state
  kCheckpoint,  // the newest checkpoint that all ranks see, newer than any live state or copies
  kCheckpointOlder,  // the floor cannot be loaded: the best checkpoint left of its history
  kFreshGivenUp,     // the owner gave up the floor, and nothing is left of its history
  // Reasons that hold: resuming would silently throw work away, so no round starts, and the
  // operator asks again.
  kCheckpointHidden,      // the floor is there, but not every rank sees it
  kCheckpointLost,        // it is not there, or damaged
  kCheckpointMismatch,    // it is there, but of another model, optimizer or data
  kCheckpointUnlistable,  // some rank could not list the directory: nothing is known
};
absl::string_view Name(ResumeReason reason);

// The newest checkpoint that the job is known to have, as in status.checkpoint.
struct Floor {
  int64_t step = 0;  // 0: its history has begun, and nothing of it is saved yet
  std::string history;
  int64_t attempt = 0;  // of the branch that builds on it; copies of lower ones were given up
};
// Returns e.g. "4200@8f2c41d09be7a135", the name that the owner uses for it.
std::string FloorText(const Floor& floor);

struct ResumeOptions {
  // Directories that a rank could not load.
  std::set<std::string> bad_checkpoints;
  // A lower bound of next_attempt. The operator passes the round's number, which is never used
  // twice.
  int64_t min_attempt = 0;
  // Absent if the job has not begun yet. Checkpoints found then were left by an earlier job of its
  // name, and the newest of them counts as the floor.
  std::optional<Floor> floor = std::nullopt;
  // checkpoint.onDamage is Hold.
  bool hold_on_damage = false;
  // checkpoint.giveUp.
  std::string give_up = "";
  // The id of a history that begins now.
  std::string new_history = "";
};

struct ResumeDecision {
  // The resume point for GoRound. Its source is SOURCE_UNSPECIFIED for the reasons that hold.
  v1alpha1::ResumePoint point;
  ResumeReason reason = ResumeReason::kFresh;
  std::string sentence;  // for people; also in point.reason, after the reason's name
  // The floor is given up: a warning is emitted, and status.checkpoint becomes `kept`, or no step
  // if that is absent, before anybody acts on it.
  bool gives_up = false;
  std::optional<v1alpha1::CheckpointRef> kept;
  // The job resumes from a checkpoint that an earlier job of its name left.
  bool adopts = false;

  bool holds() const { return point.source() == v1alpha1::ResumePoint::SOURCE_UNSPECIFIED; }
};

// Decides from the positions of the new round's ranks, by rank; there must be at least one.
// Guarantees:
//  - a version that every live rank has applied is never gone back from, unless it is behind the
//    floor or a slice of it is lost;
//  - the result is at or beyond the floor, or gives_up, or holds();
//  - LIVE is a version that some rank holds, or can reach by applying `relay`; ranks that neither
//    hold it nor can apply `relay` are exactly `receivers`, in ascending order; with MEMORY they
//    are those that neither hold the version nor have a copy of it, and what `slices` of the others
//    and `replicas` hold covers it;
//  - donor is the lowest rank that is no receiver.
// Takes time linear in ranks x checkpoints.
ResumeDecision DecideResume(absl::Span<const v1alpha1::RankPosition> positions,
                            const ResumeOptions& options = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_RESUME_H_
