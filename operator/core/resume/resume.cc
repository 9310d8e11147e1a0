#include "operator/core/resume/resume.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checkpoint/checkpoint_history.h"
#include "operator/core/resume/live_versions.h"
#include "operator/core/resume/memory_copies.h"

namespace muster::control {
namespace {

using v1alpha1::CheckpointRef;
using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;
using v1alpha1::StepDecision;
using v1alpha1::Version;

// Returns "1 step" or "7 steps".
std::string Steps(int64_t steps) { return absl::StrCat(steps, steps == 1 ? " step" : " steps"); }

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

// Absent slices stand for ranks that hold all of the state.
void DropWholeSlices(ResumePoint& point) {
  const bool divided = std::any_of(point.slices().begin(), point.slices().end(),
                                   [](const auto& slice) { return slice.shards() > 1; });
  if (!divided) point.clear_slices();
}

// Returns the clause that says what is read from replicas, if anything is.
std::string ReplicasClause(const ResumePoint& point) {
  if (point.replicas().empty()) return "";
  int64_t bytes = 0;
  std::set<int> ranks;
  for (const v1alpha1::ReplicaSource& replica : point.replicas()) {
    bytes += replica.bytes();
    ranks.insert(replica.rank());
  }
  const int slices = point.replicas_size();
  return absl::StrCat(", with ", slices, slices == 1 ? " slice" : " slices",
                      " that no rank has from replicas of ", bytes, " bytes at rank ",
                      absl::StrJoin(ranks, ", "));
}

// Goes on from `target`, which is whole among the ranks that hold it or reach it by a decision.
// Leaves next_attempt and the reason in the point to DecideResume().
ResumeDecision FromLive(Positions positions, const Version& target,
                        const StepDecisions& decisions) {
  ResumeDecision decision;
  ResumePoint& point = decision.point;
  point.set_source(ResumePoint::LIVE);
  *point.mutable_version() = target;
  const StepDecision* relay = FindDecision(decisions, target);
  int donor = -1;
  bool pristine = relay == nullptr;
  for (int rank = 0; rank < static_cast<int>(positions.size()); ++rank) {
    *point.add_slices() = positions[rank].slice();
    if (!Reaches(positions[rank], target, decisions)) {
      point.add_receivers(rank);
      continue;
    }
    if (donor < 0) {
      donor = rank;
      point.set_history(positions[rank].history());
    }
    pristine &= LastRound(positions[rank]) == std::pair<int64_t, int64_t>();
    // A rank that reaches the version, and does not hold it, applies the decision.
    if (!Holds(positions[rank], target)) *point.mutable_relay() = *relay;
  }
  DropWholeSlices(point);
  point.set_donor(donor);
  point.set_pristine(pristine);
  decision.reason = LiveReason(positions, point);
  decision.sentence = LiveSentence(decision.reason, point, positions.size());
  return decision;
}

// Loads the copies of `target`, which with replicas cover it. `live` says why no live state serves.
// Leaves next_attempt and the reason in the point to DecideResume().
ResumeDecision FromCopies(Positions positions, const Version& target, const Floor& floor,
                          const UnusedLiveState& live) {
  ResumeDecision decision;
  decision.reason = ResumeReason::kMemory;
  ResumePoint& point = decision.point;
  point.set_source(ResumePoint::MEMORY);
  *point.mutable_version() = target;
  point.set_history(std::string(HistoryName(floor.history)));
  int donor = -1;
  for (int rank = 0; rank < static_cast<int>(positions.size()); ++rank) {
    const auto slice = SliceOf(positions[rank], target);
    *point.add_slices() = slice.value_or(v1alpha1::StateSlice());
    if (!slice) {
      point.add_receivers(rank);
    } else if (donor < 0) {
      donor = rank;
    }
  }
  for (auto& replica : ReplicasNeeded(positions, target)) {
    *point.add_replicas() = std::move(replica);
  }
  DropWholeSlices(point);
  point.set_donor(donor);
  const int64_t lost = live.step - target.step();
  decision.sentence = absl::StrCat(
      live.why, "; loading the copies of ", Text(target), " in memory",
      point.receivers().empty() ? ""
                                : absl::StrCat(", which ", point.receivers_size(), " of ",
                                               positions.size(), " ranks receive from others"),
      ReplicasClause(point), lost > 0 ? absl::StrCat(": ", Steps(lost), " are lost") : "");
  return decision;
}

// The checkpoints that the ranks of a round see in their checkpoint directory: each one once, with
// the number of ranks that see it. Built in one pass over the positions. Pure.
class Stored {
 public:
  struct Entry {
    v1alpha1::CheckpointRef ref;
    size_t ranks = 0;      // the number of ranks that see it
    std::string mismatch;  // the reason why some rank cannot use it; empty: all can
    bool common = false;   // every rank sees it
    bool bad = false;      // some rank could not load it

    bool usable() const { return common && !bad && mismatch.empty(); }
    int64_t step() const { return ref.version().step(); }
    std::string history() const;
  };

  Stored(absl::Span<const v1alpha1::RankPosition> positions, const std::set<std::string>& bad);

  // Returns the newest entry, by attempt and step, for which `predicate` is true, or null. An empty
  // history matches all.
  template <typename Predicate>
  const Entry* Newest(absl::string_view history, Predicate predicate) const {
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      if (!history.empty() && entry->second.history() != history) continue;
      if (predicate(entry->second)) return &entry->second;
    }
    return nullptr;
  }
  const Entry* NewestUsable(absl::string_view history) const {
    return Newest(history, [](const Entry& entry) { return entry.usable(); });
  }
  // Returns the reason why a rank could not list the directory; empty if every rank could.
  const std::string& listing_error() const { return listing_error_; }

 private:
  // attempt, step, directory, history
  using Key = std::tuple<int64_t, int64_t, std::string, std::string>;
  std::map<Key, Entry> entries_;
  std::string listing_error_;
};

std::string Stored::Entry::history() const { return std::string(HistoryName(ref.history())); }

Stored::Stored(absl::Span<const RankPosition> positions, const std::set<std::string>& bad) {
  for (size_t rank = 0; rank < positions.size(); ++rank) {
    const RankPosition& position = positions[rank];
    if (listing_error_.empty() && !position.listing_error().empty()) {
      listing_error_ = absl::StrCat("rank ", rank, ": ", position.listing_error());
    }
    for (const CheckpointRef& ref : position.checkpoints()) {
      Entry& entry = entries_[{ref.version().attempt(), ref.version().step(), ref.directory(),
                               std::string(HistoryName(ref.history()))}];
      if (entry.ranks++ == 0) entry.ref = ref;
      if (entry.mismatch.empty()) entry.mismatch = ref.mismatch();
    }
  }
  for (auto& [key, entry] : entries_) {
    entry.common = entry.ranks >= positions.size();
    entry.bad = bad.count(entry.ref.directory()) > 0;
    entry.ref.clear_mismatch();
  }
}

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
