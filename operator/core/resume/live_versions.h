#ifndef MUSTER_OPERATOR_CORE_RESUME_LIVE_VERSIONS_H_
#define MUSTER_OPERATOR_CORE_RESUME_LIVE_VERSIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// Derives from the ranks' positions which versions of the state are live. A rank holds a version
// that it has applied. It reaches a version that it holds, or whose sealed gradients it has while
// some rank knows the decision to apply them. A version is whole if the slices of the ranks that
// reach it cover all of the state. resume.h says how versions are named, and what a position means.
// Pure.
namespace muster::control {

using Positions = absl::Span<const v1alpha1::RankPosition>;

// Orders versions by branch, then by step in it: (attempt, step).
std::pair<int64_t, int64_t> VersionOrder(const v1alpha1::Version& version);

// Returns e.g. "step 8 (attempt 3)".
std::string Text(const v1alpha1::Version& version);

// Maps each version whose decision some rank saw to that decision, as the lowest such rank reported
// it. Points into the positions.
using StepDecisions = std::map<std::pair<int64_t, int64_t>, const v1alpha1::StepDecision*>;
StepDecisions IndexDecisions(Positions positions);
// Returns nullptr if no rank saw the decision of `version`.
const v1alpha1::StepDecision* FindDecision(const StepDecisions& decisions,
                                           const v1alpha1::Version& version);

// Returns the (term, round) that the rank was last in; zeros if it was in none.
std::pair<int64_t, int64_t> LastRound(const v1alpha1::RankPosition& position);

// Returns true if the rank holds its slice of `target`.
bool Holds(const v1alpha1::RankPosition& position, const v1alpha1::Version& target);
// Returns true if the rank holds its slice of `target`, or comes to hold it by the decision.
bool Reaches(const v1alpha1::RankPosition& position, const v1alpha1::Version& target,
             const StepDecisions& decisions);

// Says why live state is not used.
struct UnusedLiveState {
  std::string why;
  int64_t step = 0;  // the newest live step, if parts of it are lost; 0: another reason
};

// Returns the newest whole version that a rank of the newest round reaches, or nullopt, and the
// reason to give if live state is not used.
std::pair<std::optional<v1alpha1::Version>, UnusedLiveState> NewestWhole(
    Positions positions, const StepDecisions& decisions);

// Returns one more than every attempt that any rank has seen, and at least `at_least`.
int64_t NextAttempt(Positions positions, int64_t at_least);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_LIVE_VERSIONS_H_
