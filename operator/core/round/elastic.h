#ifndef MUSTER_OPERATOR_CORE_ROUND_ELASTIC_H_
#define MUSTER_OPERATOR_CORE_ROUND_ELASTIC_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/core/round/seats.h"
#include "operator/core/state/break.h"
#include "operator/core/state/draft.h"

namespace muster::control {

// The members of a round that is opened now, or the reason why the job waits.
struct MemberSelection {
  std::vector<const Worker*> workers;  // in rank order; empty: wait
  std::vector<Seat> seats;             // theirs
  Reason wait_reason = Reason::kWaitingForWorkers;
  std::string wait_sentence;
  absl::Time recheck = absl::InfiniteFuture();
};

// Chooses the members. The first start needs all workers.count workers, unless some cannot be
// placed. Later, failurePolicy Shrink continues at once with the survivors, and RestartRank waits
// up to options.replacement_wait for replacements. Neither goes below workers.min, nor treats a
// worker as dead whose state is only unknown. No round waits for workers beyond workers.count, and
// spares take the seats of missing workers at once (roster.h).
MemberSelection ChooseMembers(const Draft& draft);

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

// Returns true if some round of this job has been Active, in this leadership or an earlier one.
bool HasStarted(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_ELASTIC_H_
