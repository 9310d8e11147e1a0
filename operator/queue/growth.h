#ifndef MUSTER_OPERATOR_QUEUE_GROWTH_H_
#define MUSTER_OPERATOR_QUEUE_GROWTH_H_

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/complete_gang.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/cycle_context.h"
#include "operator/queue/place_search.h"
#include "operator/queue/room/claims.h"
#include "operator/queue/room/reservations.h"
#include "operator/queue/schedule_options.h"

namespace muster::control {

// Gives running jobs that are smaller than they may be more workers, the last thing that a cycle
// does: only room that no waiting job was promised. Jobs that were shrunk come before those that
// grow beyond the size that they ask for. Cycle and places must outlive it.
class Growth {
 public:
  Growth(CycleContext& cycle, const PlaceSearch& places);

  void Run();

 private:
  bool StartsInThisCycle(const QueuedJob& job) const;
  std::vector<JobEntry*> JobsThatMayGrow(bool beyond_request);
  // The job's gang with `least` to `most` workers.
  std::optional<PartialGang> LargerGang(const JobEntry& entry, int least, int most) const;
  // Takes the largest of the job's larger sizes that there is room for.
  void GrowBeyondRequest(JobEntry& entry);
  // Returns false if there is no room for `least` workers that delays no other job.
  bool TryToGrow(JobEntry& entry, int least, int most, ScheduleReason reason);

  const absl::Time now_;
  TopologyTree& tree_;
  QueueBook::State& state_;
  const ScheduleOptions& options_;
  Reservations& reservations_;
  Claims& claims_;
  std::vector<Decision>& decisions_;
  const PlaceSearch& places_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_GROWTH_H_
