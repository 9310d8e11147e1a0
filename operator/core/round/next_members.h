#ifndef MUSTER_OPERATOR_CORE_ROUND_NEXT_MEMBERS_H_
#define MUSTER_OPERATOR_CORE_ROUND_NEXT_MEMBERS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/round/seats.h"
#include "operator/core/state/draft.h"

// Policy: who is in the next round, and in which seat.
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
// spares take the seats of missing workers at once. Where parallelism.shard ranks divide a copy of
// the state, fewer ranks per copy would each need more memory than the spec asks for: the largest
// number of workers that suits `shard` trains, and the others wait as spares.
MemberSelection ChooseMembers(const Draft& draft);

// Returns how many workers the job is to train with now. Those beyond workers.count, for which no
// round waits, are in it in numbers that the layout allows, once all of such a number are there.
int SizeOfRound(const Draft& draft);

// Returns the worker indices of the current members that stay in a round of `size` workers.
std::set<int> StayingMembers(const Draft& draft, int size);

// Returns true if some round of this job has been Active, in this leadership or an earlier one.
bool HasStarted(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_NEXT_MEMBERS_H_
