#include "operator/core/resume/resume_held.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checkpoint/checkpoint_history.h"
#include "operator/core/resume/memory_copies.h"

namespace muster::control {
namespace {

using v1alpha1::RankPosition;
using v1alpha1::ResumePoint;
using v1alpha1::StepDecision;
using v1alpha1::Version;

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

}  // namespace

std::string Steps(int64_t steps) { return absl::StrCat(steps, steps == 1 ? " step" : " steps"); }

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

}  // namespace muster::control
