#ifndef MUSTER_OPERATOR_CORE_ELASTIC_H_
#define MUSTER_OPERATOR_CORE_ELASTIC_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/core/break.h"
#include "operator/core/draft.h"

namespace muster::control {

// Who would be in a round opened now, or why none is to be opened yet.
struct Wanted {
  std::vector<const Worker*> workers;  // in rank order; empty: wait
  Reason wait_reason = Reason::kWaitingForWorkers;
  std::string wait_sentence;
  absl::Time recheck = absl::InfiniteFuture();
};

// The first start needs all workers.count workers, unless some cannot be placed. Later,
// failurePolicy Shrink goes on at once with the survivors, RestartRank holds for replacements as
// long as options.replacement_wait; neither ever goes below workers.min, nor takes a worker for
// dead that is only unknown.
Wanted ChooseMembers(const Draft& draft);

// Whether the Active round should grow (a worker came back, workers.count was raised) or shrink
// (workers.count was lowered): then as a Break with reason MembershipChanged.
std::optional<Break> FindOtherMembersWanted(const Draft& draft);

// Under failurePolicy Shrink: the next round can do without these members of the current one.
bool CanLeaveOut(const Draft& draft, const std::set<int>& failed);

// Tells the workers that Shrink leaves out, of a job that brings its own command, to end the ranks
// they still run: beside the next round these would write a second time. Of a broken round; a
// worker that was told is in no round again, and the next one waits until its end is confirmed.
// Ranks of a trainer end nothing: they hold state, and write nothing without the others.
void StopLeftOut(Draft& draft);

// Some round of this job has been Active, in this leadership or before.
bool HasStarted(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ELASTIC_H_
