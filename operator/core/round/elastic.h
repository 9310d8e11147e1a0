#ifndef MUSTER_OPERATOR_CORE_ROUND_ELASTIC_H_
#define MUSTER_OPERATOR_CORE_ROUND_ELASTIC_H_

#include <optional>
#include <set>

#include "absl/time/time.h"
#include "operator/core/state/break.h"
#include "operator/core/state/draft.h"

// When the Active round gives way to one with other members (next_members.h chooses them).
namespace muster::control {

// Returns a Break with reason MembershipChanged if the Active round should grow (a worker came
// back, workers.count was raised, all workers beyond it have come) or shrink.
std::optional<Break> FindOtherMembers(const Draft& draft);

// Returns the time at which the Active round takes in the workers that have come meanwhile, unless
// more come before then; InfiniteFuture if no worker has come.
absl::Time NextTimeToJoin(const Draft& draft);

// Returns true under failurePolicy Shrink if the next round can do without the `failed` members of
// the current one.
bool CanLeaveOut(const Draft& draft, const std::set<int>& failed);

// If the job has its own command, orders the workers that Shrink leaves out to end their ranks,
// which would otherwise write the same output as the next round. Called when a round is broken. A
// worker that got this order is in no further round, and the next round waits until its end is
// confirmed. A trainer's ranks are left running: they hold state, and write nothing without the
// others.
void StopLeftOut(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_ELASTIC_H_
