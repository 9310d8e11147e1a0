#ifndef MUSTER_OPERATOR_QUEUE_ROOM_VICTIMS_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_VICTIMS_H_

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/room/victim_options.h"

namespace muster::control {

struct Victim {
  JobEntry* entry = nullptr;
  int keep = 0;     // workers that stay; 0: the gang is stopped
  double cost = 0;  // GPU-seconds
  // kYielded: only workers beyond the size that it asks for go.
  ScheduleReason reason = ScheduleReason::kPriority;
};

// The victims that make room for a newcomer.
struct VictimPlan {
  // Empty: workers that were told to go before are enough.
  std::vector<Victim> victims;
  double cost = 0;
  // No set of victims that is enough costs less; equal to `cost` when the search was exhaustive.
  double cost_bound = 0;
  bool exact = false;
};

// Finds victims that make room for `newcomer`, in its quota and on nodes; nothing when no set does.
// Jobs of borrowing queues of its cohort go, while they borrow, if it stays within its nominal
// quota and its queue's policy lets it; so do jobs of lower priority in its own queue. Others of
// its own queue only shrink for it, once it has waited for long enough (QueueSpec::shrink_after).
// Elastic jobs are shrunk before any job is stopped, and before that, any job yields the workers
// that it has beyond the size that it asks for. Every victim is needed, and every worker that goes:
// without it the newcomer does not fit. The set has the least cost that was found, never above that
// of the cheapest domain's greedy choice; `cost_bound` says how far from the least it may be. Takes
// O(victims log victims) on top of O(nodes) for each domain that could be the cheapest. The gate
// has the last word on a newcomer with inter-pod constraints (victim_rules.h).
std::optional<VictimPlan> FindVictims(absl::Time now, const TopologyTree& tree,
                                      QueueBook::State& state, JobEntry& newcomer,
                                      const VictimOptions& options);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_VICTIMS_H_
