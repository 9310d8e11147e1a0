#ifndef MUSTER_OPERATOR_CORE_STATE_ROUND_TRANSITION_H_
#define MUSTER_OPERATOR_CORE_STATE_ROUND_TRANSITION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "operator/core/state/round_memory.h"

namespace muster::control {

// The events of a job's round. docs/states.md shows the table of transitions, and a test compares
// it with this code.
enum class RoundEvent {
  kOpen,       // (term, round, membership) are in the status: Prepare goes out
  kAllReady,   // every member answered: Go goes out
  kAllJoined,  // every member joined
  kAdopt,      // after a take-over, the recorded round's members are all stepping in it
  kBreak,      // a member failed, stalled, was lost or late, or other members are wanted
  kReset,      // the workers were stopped: no live state is left
};

absl::string_view Name(RoundPhase phase);
absl::string_view Name(RoundEvent event);
std::vector<RoundPhase> AllRoundPhases();
std::vector<RoundEvent> AllRoundEvents();

// The one transition function. Returns FailedPrecondition for an event that cannot happen in
// `phase`.
absl::StatusOr<RoundPhase> Transition(RoundPhase phase, RoundEvent event);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_ROUND_TRANSITION_H_
