#include "operator/core/resume.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::control {
namespace {

using v1alpha1::CheckpointRef;
using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;
using v1alpha1::StepDecision;
using v1alpha1::Version;

// The newer history first, then the later step in it.
std::pair<int64_t, int64_t> Order(const Version& version) {
  return {version.attempt(), version.step()};
}
bool Same(const Version& a, const Version& b) { return Order(a) == Order(b); }

std::string Text(const Version& version) {
  return absl::StrCat("step ", version.step(), " (attempt ", version.attempt(), ")");
}

// Whether `position` reaches `target` by applying the decision of `target`.
bool CanApply(const RankPosition& position, const Version& target) {
  return position.has_applied() && position.has_sealed() && Same(position.sealed(), target) &&
         position.applied().step() + 1 == target.step();
}
bool Holds(const RankPosition& position, const Version& target) {
  return position.has_applied() && Same(position.applied(), target);
}

using Positions = absl::Span<const RankPosition>;

const StepDecision* FindDecision(Positions positions, const Version& version) {
  for (const RankPosition& position : positions) {
    for (const StepDecision& decision : position.decisions()) {
      if (Same(decision.version(), version)) return &decision;
    }
  }
  return nullptr;
}

std::pair<int64_t, int64_t> LastRound(const RankPosition& position) {
  return {position.term(), position.round()};
}

// The newest version that some rank of the newest round holds or can reach.
std::optional<Version> NewestReachable(Positions positions) {
  std::pair<int64_t, int64_t> newest_round;
  for (const RankPosition& position : positions) {
    if (position.has_applied()) newest_round = std::max(newest_round, LastRound(position));
  }
  std::optional<Version> best;
  auto offer = [&best](const Version& version) {
    if (!best || Order(*best) < Order(version)) best = version;
  };
  for (const RankPosition& position : positions) {
    if (LastRound(position) != newest_round) continue;
    if (position.has_applied()) offer(position.applied());
    if (position.has_sealed() && CanApply(position, position.sealed()) &&
        FindDecision(positions, position.sealed()) != nullptr) {
      offer(position.sealed());
    }
  }
  return best;
}

// One more than every attempt that anybody has seen.
int64_t NextAttempt(Positions positions, int64_t at_least) {
  int64_t next = at_least;
  auto see = [&next](const Version& version) { next = std::max(next, version.attempt() + 1); };
  for (const RankPosition& position : positions) {
    if (position.has_applied()) see(position.applied());
    if (position.has_sealed()) see(position.sealed());
    for (const StepDecision& decision : position.decisions()) see(decision.version());
    for (const CheckpointRef& checkpoint : position.checkpoints()) see(checkpoint.version());
  }
  return next;
}

ResumeReason LiveReason(Positions positions, const ResumePoint& point) {
  if (point.has_relay()) return ResumeReason::kLiveRelay;
  for (const RankPosition& position : positions) {
    if (Holds(position, point.version()) && position.has_sealed() &&
        position.sealed().step() == point.version().step() + 1) {
      return ResumeReason::kLiveRedo;
    }
  }
  return point.receivers().empty() ? ResumeReason::kLiveInStep : ResumeReason::kLiveBehind;
}

std::string LiveSentence(ResumeReason reason, const ResumePoint& point, size_t ranks) {
  std::string text;
  switch (reason) {
    case ResumeReason::kLiveRelay:
      text = absl::StrCat("the decision of ", Text(point.version()),
                          " is relayed to the ranks that still hold its gradients");
      break;
    case ResumeReason::kLiveRedo:
      text = absl::StrCat("nobody knows the decision of step ", point.version().step() + 1,
                          ", so it is redone from ", Text(point.version()));
      break;
    default:
      text = absl::StrCat("going on from ", Text(point.version()), ", which is live");
  }
  if (!point.receivers().empty()) {
    absl::StrAppend(&text, "; rank ", point.donor(), " sends its state to ", point.receivers_size(),
                    " of ", ranks, " ranks");
  }
  return text;
}

ResumeDecision Live(Positions positions, const Version& target) {
  ResumeDecision decision;
  ResumePoint& point = decision.point;
  point.set_source(ResumePoint::LIVE);
  *point.mutable_version() = target;
  const StepDecision* relay = FindDecision(positions, target);
  int donor = -1;
  bool pristine = relay == nullptr;
  for (int rank = 0; rank < static_cast<int>(positions.size()); ++rank) {
    const bool applies = relay != nullptr && CanApply(positions[rank], target);
    if (!Holds(positions[rank], target) && !applies) {
      point.add_receivers(rank);
      continue;
    }
    if (donor < 0) donor = rank;
    pristine &= LastRound(positions[rank]) == std::pair<int64_t, int64_t>();
    if (applies) *point.mutable_relay() = *relay;
  }
  point.set_donor(donor);
  point.set_pristine(pristine);
  decision.reason = LiveReason(positions, point);
  decision.sentence = LiveSentence(decision.reason, point, positions.size());
  return decision;
}

bool Sees(const RankPosition& position, const CheckpointRef& checkpoint) {
  return std::any_of(position.checkpoints().begin(), position.checkpoints().end(),
                     [&](const CheckpointRef& other) {
                       return other.directory() == checkpoint.directory() &&
                              Same(other.version(), checkpoint.version());
                     });
}

// Checkpoints that are not known to be bad: the newest that all ranks see, and whether there is
// any.
struct Stored {
  std::optional<CheckpointRef> newest_common;
  std::string hidden;  // one that some rank does not see
};

Stored FindStored(Positions positions, const std::set<std::string>& bad) {
  Stored stored;
  auto order = [](const CheckpointRef& ref) {
    return std::tuple(ref.version().attempt(), ref.version().step(), ref.directory());
  };
  for (const RankPosition& position : positions) {
    for (const CheckpointRef& ref : position.checkpoints()) {
      if (bad.count(ref.directory()) > 0) continue;
      const bool common = std::all_of(positions.begin(), positions.end(),
                                      [&](const RankPosition& other) { return Sees(other, ref); });
      if (!common) {
        stored.hidden = std::max(stored.hidden, ref.directory());
      } else if (!stored.newest_common || order(*stored.newest_common) < order(ref)) {
        stored.newest_common = ref;
      }
    }
  }
  return stored;
}

ResumeDecision NotLive(const Stored& stored, const ResumeOptions& options, bool any_live) {
  ResumeDecision decision;
  if (stored.newest_common) {
    decision.reason = ResumeReason::kCheckpoint;
    decision.point.set_source(ResumePoint::CHECKPOINT);
    *decision.point.mutable_checkpoint() = *stored.newest_common;
    *decision.point.mutable_version() = stored.newest_common->version();
    decision.sentence =
        absl::StrCat(any_live ? "every live state is older than the newest checkpoint"
                              : "no rank holds live state",
                     "; loading ", stored.newest_common->directory());
  } else if (!stored.hidden.empty()) {
    decision.reason = ResumeReason::kCheckpointHidden;
    decision.sentence =
        absl::StrCat("no rank holds live state, and checkpoint ", stored.hidden,
                     " is not visible to every rank: is checkpoint.uri shared by all workers?");
  } else {
    decision.reason = ResumeReason::kFresh;
    decision.point.set_source(ResumePoint::FRESH);
    decision.point.mutable_version();
    decision.sentence = "no live state and no usable checkpoint; starting from initial weights";
    if (!options.bad_checkpoints.empty()) {
      absl::StrAppend(&decision.sentence,
                      " (unusable: ", absl::StrJoin(options.bad_checkpoints, ", "), ")");
    }
  }
  return decision;
}

}  // namespace

absl::string_view ResumeReasonName(ResumeReason reason) {
  switch (reason) {
    case ResumeReason::kFresh:
      return "Fresh";
    case ResumeReason::kLiveInStep:
      return "LiveInStep";
    case ResumeReason::kLiveRelay:
      return "LiveRelay";
    case ResumeReason::kLiveRedo:
      return "LiveRedo";
    case ResumeReason::kLiveBehind:
      return "LiveBehind";
    case ResumeReason::kCheckpoint:
      return "Checkpoint";
    case ResumeReason::kCheckpointHidden:
      return "CheckpointHidden";
  }
  return "";
}

ResumeDecision DecideResume(absl::Span<const RankPosition> positions,
                            const ResumeOptions& options) {
  const std::optional<Version> target = NewestReachable(positions);
  const Stored stored = FindStored(positions, options.bad_checkpoints);
  // A worker that was left out of rounds may come back with less than the others had saved.
  const bool live =
      target && (!stored.newest_common || Order(stored.newest_common->version()) <= Order(*target));
  ResumeDecision decision =
      live ? Live(positions, *target) : NotLive(stored, options, target.has_value());
  decision.point.set_next_attempt(NextAttempt(positions, options.min_attempt));
  decision.point.set_reason(
      absl::StrCat(ResumeReasonName(decision.reason), ": ", decision.sentence));
  return decision;
}

}  // namespace muster::control
