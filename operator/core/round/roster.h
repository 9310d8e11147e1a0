#ifndef MUSTER_OPERATOR_CORE_ROUND_ROSTER_H_
#define MUSTER_OPERATOR_CORE_ROUND_ROSTER_H_

#include <set>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/round/seats.h"
#include "operator/core/state/draft.h"

// The workers that can be in the next round, and their seats.
namespace muster::control {

struct Roster {
  std::vector<Seat> seats;             // of a round opened now, in rank order
  std::vector<const Worker*> present;  // their workers
  // Present, but without a seat: left out by Shrink, leaving, above the wanted number, or spares.
  std::vector<const Worker*> others;
  int unknown = 0;  // workers out of contact that may come back, and hold state or are needed
  int open = 0;     // seats to fill: the wanted size, without commands that have ended
  int missing = 0;  // seats for which a worker is awaited
  absl::Time recheck = absl::InfiniteFuture();
};

// Returns the roster of a round of `size` workers. Workers that Shrink left out, or that leave
// their nodes, get a seat only if the round would otherwise have fewer than `at_least` workers.
Roster TakeRoster(const Draft& draft, int size, int at_least);

// Adds the worker to the roster's round, among the others by its index.
void GiveSeat(const Worker& worker, Roster& roster);

// Returns true if the worker's ranks may hold weights, because it was in a round before.
bool MayHoldState(const Worker& worker);
// Returns true if the worker was in the last Active round, whose state is the newest.
bool HoldsNewest(const Draft& draft, const Worker& worker);

// Returns the worker indices of the current members that stay in a round of `size` workers.
std::set<int> StayingMembers(const Draft& draft, int size);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_ROSTER_H_
