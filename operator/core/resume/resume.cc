#include "operator/core/resume/resume.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_history.h"
#include "operator/core/resume/live_versions.h"
#include "operator/core/resume/memory_copies.h"
#include "operator/core/resume/resume_held.h"
#include "operator/core/resume/stored.h"

namespace muster::control {
namespace {

using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;
using v1alpha1::Version;

// Returns the newest checkpoint that the job is known to have: the recorded floor or, if nothing of
// its history is recorded as saved, the newest checkpoint that the ranks see, preferably one that
// all of them see. Without a recorded floor, checkpoints of every history count. Returns nullopt if
// the ranks see no checkpoint either.
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
                          const UnusedLiveState& live) {
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
                                 const ResumeOptions& options, const UnusedLiveState& live) {
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
std::string HistoryOf(Positions positions, const Version& target, const StepDecisions& decisions,
                      const std::optional<Floor>& floor) {
  for (const RankPosition& position : positions) {
    if (!Reaches(position, target, decisions)) continue;
    if (!position.history().empty()) return position.history();
    break;
  }
  return std::string(HistoryName(floor ? floor->history : ""));
}

// Returns true if live state at `target`, although behind the floor, is better than the checkpoint
// that `stored` would load.
bool IsBetter(Positions positions, const Version& target, const StepDecisions& decisions,
              const Floor& floor, const ResumeDecision& stored) {
  return HistoryOf(positions, target, decisions, floor) == HistoryName(floor.history) &&
         (!stored.kept || (VersionOrder(stored.kept->version()) < VersionOrder(target) &&
                           stored.kept->version().step() <= target.step()));
}

// Returns the newest version whose copies are at or beyond all that was saved.
std::optional<Version> NewestUsableCopy(Positions positions, const Stored& stored,
                                        const std::optional<Floor>& floor) {
  if (!floor) return std::nullopt;
  const std::string history(HistoryName(floor->history));
  const auto copied = NewestCopied(positions, {history, floor->step, floor->attempt});
  if (!copied) return std::nullopt;
  const Stored::Entry* newest = stored.NewestUsable(history);
  if (newest != nullptr && VersionOrder(*copied) < VersionOrder(newest->ref.version())) {
    return std::nullopt;
  }
  return copied;
}

// Returns true if live state at `target` is at or beyond all that was saved.
bool IsAhead(Positions positions, const Version& target, const StepDecisions& decisions,
             const Stored& stored, const std::optional<Floor>& floor) {
  const std::string history = HistoryOf(positions, target, decisions, floor);
  if (floor && (history != HistoryName(floor->history) || target.step() < floor->step)) {
    return false;
  }
  // A worker that was left out of rounds may come back with less than the others have saved since.
  const Stored::Entry* newest = stored.NewestUsable(history);
  return newest == nullptr || VersionOrder(newest->ref.version()) <= VersionOrder(target);
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
    case ResumeReason::kMemory:
      return "Memory";
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
  const StepDecisions decisions = IndexDecisions(positions);
  const auto [target, unused] = NewestWhole(positions, decisions);
  const Stored stored(positions, options.bad_checkpoints);
  const auto copied = NewestUsableCopy(positions, stored, options.floor);
  const bool older = target && copied && VersionOrder(*target) < VersionOrder(*copied);
  ResumeDecision decision;
  if (target && !older && IsAhead(positions, *target, decisions, stored, options.floor)) {
    decision = FromLive(positions, *target, decisions);
  } else if (copied) {
    decision = FromCopies(positions, *copied, *options.floor,
                          target ? UnusedLiveState{"no live state is as new"} : unused);
  } else {
    const std::optional<Floor> floor = ExpectedFloor(stored, options);
    decision = DecideWithoutLive(stored, floor, options, unused);
    if (decision.gives_up && target && IsBetter(positions, *target, decisions, *floor, decision)) {
      ResumeDecision live = FromLive(positions, *target, decisions);
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
