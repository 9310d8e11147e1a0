#ifndef MUSTER_OPERATOR_CORE_RESUME_H_
#define MUSTER_OPERATOR_CORE_RESUME_H_

#include <cstdint>
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
// to the newer history. A dead rank may have been the only one that saw a vote: what it applied
// then carries an attempt that nobody goes on from, and a zombie that returns with it is a
// receiver: among ranks with weights, only those whose last round is the newest set the target,
// because ranks that were missed may hold a branch of history that was given up.
//
// What a rank must report (RankPosition): `applied` only if its weights and optimizer state are
// whole and of that version (absent while it is receiving or loading); `sealed` only if the fully
// reduced gradients of that version, computed from `applied`, are held unspoilt; in `decisions` the
// newest votes it saw complete.
namespace muster::control {

enum class ResumeReason {
  kFresh,       // no rank holds anything, no checkpoint: initial weights
  kLiveInStep,  // every rank holds the same version
  kLiveRelay,   // ranks with sealed gradients apply a decision that another rank saw or applied
  kLiveRedo,    // a step was under way and nobody knows its decision: it is redone
  kLiveBehind,  // some ranks hold older or foreign state, and receive
  kCheckpoint,  // the newest checkpoint that all ranks see, newer than any live state
  kCheckpointHidden,  // no live state, and checkpoints exist that not every rank sees: no round
};
absl::string_view ResumeReasonName(ResumeReason reason);

struct ResumeOptions {
  // Directories that a rank could not load.
  std::set<std::string> bad_checkpoints;
  // next_attempt is at least this. The operator passes the round's number, which is never used
  // twice.
  int64_t min_attempt = 0;
};

struct ResumeDecision {
  // What goes into GoRound. source is SOURCE_UNSPECIFIED for kCheckpointHidden alone: going on from
  // initial weights would silently throw a run away, so the operator holds and asks again.
  v1alpha1::ResumePoint point;
  ResumeReason reason = ResumeReason::kFresh;
  std::string sentence;  // for people; also in point.reason, after the reason's name
};

// `positions` by rank of the new round, at least one. Guarantees:
//  - a version that every live rank has applied is never gone back from;
//  - the result is a version that some rank holds, or can reach by applying `relay`; ranks that
//    neither hold it nor can apply `relay` are exactly `receivers`, in ascending order;
//  - donor is the lowest rank that is no receiver.
ResumeDecision DecideResume(absl::Span<const v1alpha1::RankPosition> positions,
                            const ResumeOptions& options = {});

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_H_
