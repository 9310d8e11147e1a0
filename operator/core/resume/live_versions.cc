#include "operator/core/resume/live_versions.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/core/resume/slice_span.h"

namespace muster::control {

using v1alpha1::CheckpointRef;
using v1alpha1::RankPosition;
using v1alpha1::StateCopy;
using v1alpha1::StepDecision;
using v1alpha1::Version;

namespace {

bool Same(const Version& a, const Version& b) { return VersionOrder(a) == VersionOrder(b); }

// Returns true if `position` reaches `target` by applying the decision of `target`.
bool CanApply(const RankPosition& position, const Version& target) {
  return position.has_applied() && position.has_sealed() && Same(position.sealed(), target) &&
         position.applied().step() + 1 == target.step();
}

// Returns the versions that ranks of the newest round hold or can reach, newest first.
std::vector<Version> Reachable(Positions positions, const StepDecisions& decisions) {
  std::pair<int64_t, int64_t> newest_round;
  for (const RankPosition& position : positions) {
    if (position.has_applied()) newest_round = std::max(newest_round, LastRound(position));
  }
  std::map<std::pair<int64_t, int64_t>, Version> found;
  auto offer = [&found](const Version& version) { found.emplace(VersionOrder(version), version); };
  for (const RankPosition& position : positions) {
    if (LastRound(position) != newest_round) continue;
    if (position.has_applied()) offer(position.applied());
    if (position.has_sealed() && CanApply(position, position.sealed()) &&
        FindDecision(decisions, position.sealed()) != nullptr) {
      offer(position.sealed());
    }
  }
  std::vector<Version> out;
  for (auto it = found.rbegin(); it != found.rend(); ++it) out.push_back(it->second);
  return out;
}

// Returns the sentence that says which part of `target` no rank holds any more; "" if the slices of
// those that reach it cover all.
std::string Uncovered(Positions positions, const Version& target, const StepDecisions& decisions) {
  std::vector<SliceSpan> spans;
  for (const RankPosition& position : positions) {
    if (Reaches(position, target, decisions)) spans.push_back(SpanOf(position.slice()));
  }
  const std::optional<SliceSpan> gap = FirstGap(std::move(spans));
  if (!gap) return "";
  return absl::StrCat("the live state of ", Text(target), " is not whole: no rank holds ",
                      Text(*gap), " of it");
}

}  // namespace

std::pair<int64_t, int64_t> VersionOrder(const Version& version) {
  return {version.attempt(), version.step()};
}

std::string Text(const Version& version) {
  return absl::StrCat("step ", version.step(), " (attempt ", version.attempt(), ")");
}

StepDecisions IndexDecisions(Positions positions) {
  StepDecisions index;
  for (const RankPosition& position : positions) {
    for (const StepDecision& decision : position.decisions()) {
      index.emplace(VersionOrder(decision.version()), &decision);
    }
  }
  return index;
}

const StepDecision* FindDecision(const StepDecisions& decisions, const Version& version) {
  const auto found = decisions.find(VersionOrder(version));
  return found == decisions.end() ? nullptr : found->second;
}

std::pair<int64_t, int64_t> LastRound(const RankPosition& position) {
  return {position.term(), position.round()};
}

bool Holds(const RankPosition& position, const Version& target) {
  return position.has_applied() && Same(position.applied(), target);
}

bool Reaches(const RankPosition& position, const Version& target, const StepDecisions& decisions) {
  return Holds(position, target) ||
         (CanApply(position, target) && FindDecision(decisions, target) != nullptr);
}

std::pair<std::optional<Version>, UnusedLiveState> NewestWhole(Positions positions,
                                                               const StepDecisions& decisions) {
  UnusedLiveState unused;
  for (const Version& version : Reachable(positions, decisions)) {
    const std::string gap = Uncovered(positions, version, decisions);
    if (gap.empty()) return {version, {"every live state is older than the newest checkpoint"}};
    if (unused.why.empty()) unused = {gap, version.step()};
  }
  if (unused.why.empty()) unused.why = "no rank holds live state";
  return {std::nullopt, unused};
}

int64_t NextAttempt(Positions positions, int64_t at_least) {
  int64_t next = at_least;
  auto see = [&next](const Version& version) { next = std::max(next, version.attempt() + 1); };
  for (const RankPosition& position : positions) {
    if (position.has_applied()) see(position.applied());
    if (position.has_sealed()) see(position.sealed());
    for (const StepDecision& decision : position.decisions()) see(decision.version());
    for (const CheckpointRef& checkpoint : position.checkpoints()) see(checkpoint.version());
    for (const StateCopy& copy : position.copies()) see(copy.version());
    for (const StateCopy& replica : position.replicas()) see(replica.version());
  }
  return next;
}

}  // namespace muster::control
