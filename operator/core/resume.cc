#include "operator/core/resume.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_history.h"
#include "operator/core/slice_span.h"
#include "operator/core/stored.h"

namespace muster::control {
namespace {

using v1alpha1::CheckpointRef;
using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;
using v1alpha1::StepDecision;
using v1alpha1::Version;

// Orders versions by branch, then by step in it.
std::pair<int64_t, int64_t> Order(const Version& version) {
  return {version.attempt(), version.step()};
}
bool Same(const Version& a, const Version& b) { return Order(a) == Order(b); }

std::string Text(const Version& version) {
  return absl::StrCat("step ", version.step(), " (attempt ", version.attempt(), ")");
}

// Returns true if `position` reaches `target` by applying the decision of `target`.
bool CanApply(const RankPosition& position, const Version& target) {
  return position.has_applied() && position.has_sealed() && Same(position.sealed(), target) &&
         position.applied().step() + 1 == target.step();
}
bool Holds(const RankPosition& position, const Version& target) {
  return position.has_applied() && Same(position.applied(), target);
}

using Positions = absl::Span<const RankPosition>;

// Every decision that some rank saw, as reported by the lowest such rank.
using Decisions = std::map<std::pair<int64_t, int64_t>, const StepDecision*>;

Decisions IndexDecisions(Positions positions) {
  Decisions index;
  for (const RankPosition& position : positions) {
    for (const StepDecision& decision : position.decisions()) {
      index.emplace(Order(decision.version()), &decision);
    }
  }
  return index;
}

const StepDecision* Find(const Decisions& decisions, const Version& version) {
  const auto found = decisions.find(Order(version));
  return found == decisions.end() ? nullptr : found->second;
}

std::pair<int64_t, int64_t> LastRound(const RankPosition& position) {
  return {position.term(), position.round()};
}

// Returns the versions that ranks of the newest round hold or can reach, newest first.
std::vector<Version> Reachable(Positions positions, const Decisions& decisions) {
  std::pair<int64_t, int64_t> newest_round;
  for (const RankPosition& position : positions) {
    if (position.has_applied()) newest_round = std::max(newest_round, LastRound(position));
  }
  std::map<std::pair<int64_t, int64_t>, Version> found;
  auto offer = [&found](const Version& version) { found.emplace(Order(version), version); };
  for (const RankPosition& position : positions) {
    if (LastRound(position) != newest_round) continue;
    if (position.has_applied()) offer(position.applied());
    if (position.has_sealed() && CanApply(position, position.sealed()) &&
        Find(decisions, position.sealed()) != nullptr) {
      offer(position.sealed());
    }
  }
  std::vector<Version> out;
  for (auto it = found.rbegin(); it != found.rend(); ++it) out.push_back(it->second);
  return out;
}

// Returns true if the rank holds its slice of `target`, or comes to hold it by the decision.
bool Reaches(const RankPosition& position, const Version& target, const Decisions& decisions) {
  return Holds(position, target) ||
         (CanApply(position, target) && Find(decisions, target) != nullptr);
}

// Returns the sentence that says which part of `target` no rank holds any more; "" if the slices of
// those that reach it cover all.
std::string Uncovered(Positions positions, const Version& target, const Decisions& decisions) {
  std::vector<SliceSpan> spans;
  for (const RankPosition& position : positions) {
    if (Reaches(position, target, decisions)) spans.push_back(SpanOf(position.slice()));
  }
  const std::optional<SliceSpan> gap = FirstGap(std::move(spans));
  if (!gap) return "";
  return absl::StrCat("the live state of ", Text(target), " is not whole: no rank holds ",
                      Text(*gap), " of it");
}

// Returns one more than every attempt that any rank has seen, and at least `at_least`.
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
  if (reason == ResumeReason::kLiveRelay) {
    text = absl::StrCat("the decision of ", Text(point.version()),
                        " is relayed to the ranks that still hold its gradients");
  } else if (reason == ResumeReason::kLiveRedo) {
    text = absl::StrCat("nobody knows the decision of step ", point.version().step() + 1,
                        ", so it is redone from ", Text(point.version()));
  } else {
    text = absl::StrCat("going on from ", Text(point.version()), ", which is live");
  }
  if (!point.receivers().empty()) {
    absl::StrAppend(&text, "; rank ", point.donor(), " sends its state to ", point.receivers_size(),
                    " of ", ranks, " ranks");
  }
  return text;
}

ResumeDecision Live(Positions positions, const Version& target, const Decisions& decisions) {
  ResumeDecision decision;
  ResumePoint& point = decision.point;
  point.set_source(ResumePoint::LIVE);
  *point.mutable_version() = target;
  const StepDecision* relay = Find(decisions, target);
  int donor = -1;
  bool pristine = relay == nullptr;
  for (int rank = 0; rank < static_cast<int>(positions.size()); ++rank) {
    const bool applies = relay != nullptr && CanApply(positions[rank], target);
    *point.add_slices() = positions[rank].slice();
    if (!Holds(positions[rank], target) && !applies) {
      point.add_receivers(rank);
      continue;
    }
    if (donor < 0) {
      donor = rank;
      point.set_history(positions[rank].history());
    }
    pristine &= LastRound(positions[rank]) == std::pair<int64_t, int64_t>();
    if (applies) *point.mutable_relay() = *relay;
  }
  const bool divided = std::any_of(point.slices().begin(), point.slices().end(),
                                   [](const auto& slice) { return slice.shards() > 1; });
  if (!divided) point.clear_slices();
  point.set_donor(donor);
  point.set_pristine(pristine);
  decision.reason = LiveReason(positions, point);
  decision.sentence = LiveSentence(decision.reason, point, positions.size());
  return decision;
}

// Says why live state is not used.
struct Unused {
  std::string why;
  int64_t step = 0;  // the newest step of which a part is left; 0 if that is not why
};

// Returns the newest version of which every part is live.
std::pair<std::optional<Version>, Unused> NewestWhole(Positions positions,
                                                      const Decisions& decisions) {
  Unused unused;
  for (const Version& version : Reachable(positions, decisions)) {
    const std::string gap = Uncovered(positions, version, decisions);
    if (gap.empty()) return {version, {"every live state is older than the newest checkpoint"}};
    if (unused.why.empty()) unused = {gap, version.step()};
  }
  if (unused.why.empty()) unused.why = "no rank holds live state";
  return {std::nullopt, unused};
}

std::string Steps(int64_t steps) { return absl::StrCat(steps, steps == 1 ? " step" : " steps"); }

// Returns the checkpoint that the job is known to have; nullopt if there is none and no history has
// begun. Without a recorded floor, or while nothing of its history is recorded as saved, the
// checkpoints that the ranks see decide.
std::optional<Floor> ExpectedFloor(const Stored& stored, const ResumeOptions& options) {
  if (options.floor && options.floor->step > 0) {
    return Floor{options.floor->step, std::string(HistoryName(options.floor->history))};
  }
  const std::string history =
      options.floor ? std::string(HistoryName(options.floor->history)) : std::string();
  const Stored::Entry* newest =
      stored.Newest(history, [](const Stored::Entry& entry) { return entry.common; });
  if (newest == nullptr) newest = stored.Newest(history, [](const auto&) { return true; });
  if (newest == nullptr) return std::nullopt;
  return Floor{newest->step(), newest->history()};
}

ResumeDecision Hold(ResumeReason reason, std::string sentence) {
  ResumeDecision decision;
  decision.reason = reason;
  decision.sentence = std::move(sentence);
  return decision;
}

ResumeDecision Load(const Stored::Entry& entry, ResumeReason reason, std::string sentence) {
  ResumeDecision decision;
  decision.reason = reason;
  decision.point.set_source(ResumePoint::CHECKPOINT);
  *decision.point.mutable_checkpoint() = entry.ref;
  *decision.point.mutable_version() = entry.ref.version();
  decision.point.set_history(entry.history());
  decision.kept = entry.ref;
  decision.sentence = std::move(sentence);
  return decision;
}

ResumeDecision Fresh(const ResumeOptions& options, ResumeReason reason, std::string sentence) {
  ResumeDecision decision;
  decision.reason = reason;
  decision.point.set_source(ResumePoint::FRESH);
  decision.point.mutable_version();
  decision.point.set_history(options.new_history);
  decision.sentence = std::move(sentence);
  return decision;
}

// Returns the clause that tells the owner how to let the job go on without its floor.
std::string HowToGiveUp(const Floor& floor, const Stored::Entry* older) {
  return absl::StrCat("; to go on from ",
                      older == nullptr ? "initial weights" : older->ref.directory(),
                      " instead, set spec.checkpoint.giveUp: \"", FloorText(floor), "\"");
}

// Called when the floor cannot be loaded. Returns the decision to hold and ask the owner, or
// nullopt if the operator may go on by itself.
std::optional<ResumeDecision> AskTheOwner(const Stored& stored, const Floor& floor,
                                          const Stored::Entry* older,
                                          const ResumeOptions& options) {
  const auto at_floor = [&](const Stored::Entry& entry) {
    return !entry.bad && entry.step() >= floor.step;
  };
  const Stored::Entry* there = stored.Newest(floor.history, at_floor);
  const std::string expected =
      absl::StrCat("the checkpoint of step ", floor.step, " of history ", floor.history);
  if (there != nullptr && !there->common) {
    return Hold(ResumeReason::kCheckpointHidden,
                absl::StrCat("checkpoint ", there->ref.directory(),
                             " is not visible to every rank: is checkpoint.uri shared by all "
                             "workers?",
                             HowToGiveUp(floor, older)));
  }
  if (there != nullptr) {
    return Hold(ResumeReason::kCheckpointMismatch,
                absl::StrCat("the job has ", expected, ", which it cannot use: ", there->mismatch,
                             "; undo that change", HowToGiveUp(floor, older)));
  }
  if (older != nullptr && !options.hold_on_damage) return std::nullopt;
  const Stored::Entry* damaged =
      stored.Newest(floor.history, [&](const auto& entry) { return entry.step() >= floor.step; });
  std::string found;
  if (older != nullptr) {
    found =
        absl::StrCat(older->ref.directory(), ", ", Steps(floor.step - older->step()), " before it");
  } else if (const Stored::Entry* other = stored.Newest("", [&](const Stored::Entry& entry) {
               return entry.history() != floor.history;
             })) {
    found = absl::StrCat(other->ref.directory(), " of history ", other->history());
  }
  return Hold(ResumeReason::kCheckpointLost,
              absl::StrCat("the job has ", expected, ", which ",
                           damaged == nullptr ? "no rank finds" : "is damaged", "; there is ",
                           found.empty() ? "no other that can be used" : found,
                           "; restore the expected one", HowToGiveUp(floor, older)));
}

ResumeDecision FromStored(const Stored& stored, const Floor& floor, const ResumeOptions& options,
                          const Unused& live) {
  const Stored::Entry* best = stored.NewestUsable(floor.history);
  if (best != nullptr && best->step() >= floor.step) {
    const int64_t lost = live.step - best->step();
    return Load(*best, ResumeReason::kCheckpoint,
                absl::StrCat(live.why, "; loading ", best->ref.directory(),
                             lost > 0 ? absl::StrCat(": ", Steps(lost), " are lost") : ""));
  }
  const bool given_up = options.give_up == FloorText(floor);
  if (!given_up) {
    if (auto held = AskTheOwner(stored, floor, best, options)) return *std::move(held);
  }
  const std::string lost =
      absl::StrCat("the checkpoint of step ", floor.step, " of history ", floor.history,
                   given_up ? " was given up by checkpoint.giveUp" : " cannot be loaded");
  ResumeDecision decision =
      best != nullptr
          ? Load(*best, ResumeReason::kCheckpointOlder,
                 absl::StrCat(lost, "; loading ", best->ref.directory(), ": ",
                              Steps(floor.step - best->step()), " are lost"))
          : Fresh(options, ResumeReason::kFreshGivenUp,
                  absl::StrCat(lost, "; starting from initial weights: ", Steps(floor.step),
                               " are lost"));
  decision.gives_up = true;
  return decision;
}

// Decides when there is no live state at or beyond the floor.
ResumeDecision DecideWithoutLive(const Stored& stored, const std::optional<Floor>& floor,
                                 const ResumeOptions& options, const Unused& live) {
  if (!stored.listing_error().empty()) {
    return Hold(
        ResumeReason::kCheckpointUnlistable,
        absl::StrCat("the checkpoint directory could not be listed: ", stored.listing_error(),
                     floor ? absl::StrCat("; expected the checkpoint of step ", floor->step,
                                          " of history ", floor->history)
                           : "",
                     "; the job goes on once it can be listed"));
  }
  if (!floor) {
    return Fresh(options, ResumeReason::kFresh,
                 live.step == 0 ? "no live state and no checkpoint; starting from initial weights"
                                : absl::StrCat(live.why,
                                               "; there is no checkpoint: starting from "
                                               "initial weights, ",
                                               Steps(live.step), " are lost"));
  }
  ResumeDecision decision = FromStored(stored, *floor, options, live);
  decision.adopts = !options.floor && decision.point.source() == ResumePoint::CHECKPOINT;
  return decision;
}

// Returns the history of the ranks at `target`. Ranks that report none are older than histories,
// and have not left the recorded one.
std::string HistoryOf(Positions positions, const Version& target,
                      const std::optional<Floor>& floor) {
  for (const RankPosition& position : positions) {
    if (!Holds(position, target) && !CanApply(position, target)) continue;
    if (!position.history().empty()) return position.history();
    break;
  }
  return std::string(HistoryName(floor ? floor->history : ""));
}

// Returns true if live state at `target`, although behind the floor, is better than the checkpoint
// that `stored` would load.
bool IsBetter(Positions positions, const Version& target, const Floor& floor,
              const ResumeDecision& stored) {
  return HistoryOf(positions, target, floor) == HistoryName(floor.history) &&
         (!stored.kept || (Order(stored.kept->version()) < Order(target) &&
                           stored.kept->version().step() <= target.step()));
}

// Returns true if live state at `target` is at or beyond all that was saved.
bool IsAhead(Positions positions, const Version& target, const Stored& stored,
             const std::optional<Floor>& floor) {
  const std::string history = HistoryOf(positions, target, floor);
  if (floor && (history != HistoryName(floor->history) || target.step() < floor->step)) {
    return false;
  }
  // A worker that was left out of rounds may come back with less than the others have saved since.
  const Stored::Entry* newest = stored.NewestUsable(history);
  return newest == nullptr || Order(newest->ref.version()) <= Order(target);
}

}  // namespace

absl::string_view Name(ResumeReason reason) {
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
    case ResumeReason::kCheckpointOlder:
      return "CheckpointOlder";
    case ResumeReason::kFreshGivenUp:
      return "FreshGivenUp";
    case ResumeReason::kCheckpointHidden:
      return "CheckpointHidden";
    case ResumeReason::kCheckpointLost:
      return "CheckpointLost";
    case ResumeReason::kCheckpointMismatch:
      return "CheckpointMismatch";
    case ResumeReason::kCheckpointUnlistable:
      return "CheckpointUnlistable";
  }
  return "";
}

std::string FloorText(const Floor& floor) {
  return absl::StrCat(floor.step, "@", std::string(HistoryName(floor.history)));
}

ResumeDecision DecideResume(absl::Span<const RankPosition> positions,
                            const ResumeOptions& options) {
  const Decisions decisions = IndexDecisions(positions);
  const auto [target, unused] = NewestWhole(positions, decisions);
  const Stored stored(positions, options.bad_checkpoints);
  ResumeDecision decision;
  if (target && IsAhead(positions, *target, stored, options.floor)) {
    decision = Live(positions, *target, decisions);
  } else {
    const std::optional<Floor> floor = ExpectedFloor(stored, options);
    decision = DecideWithoutLive(stored, floor, options, unused);
    if (decision.gives_up && target && IsBetter(positions, *target, *floor, decision)) {
      ResumeDecision live = Live(positions, *target, decisions);
      live.kept = decision.kept;
      live.gives_up = true;
      absl::StrAppend(&live.sentence, "; the checkpoint of step ", floor->step,
                      " cannot be loaded: ", Steps(floor->step - target->step()), " are lost");
      decision = std::move(live);
    }
  }
  decision.point.set_next_attempt(NextAttempt(positions, options.min_attempt));
  decision.point.set_reason(absl::StrCat(Name(decision.reason), ": ", decision.sentence));
  return decision;
}

}  // namespace muster::control
