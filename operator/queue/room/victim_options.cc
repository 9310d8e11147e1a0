#include "operator/queue/room/victim_options.h"

#include <algorithm>

namespace muster::control {

double CostOfStopping(const QueuedJob& job, absl::Time now, const VictimOptions& options) {
  const absl::Duration lost = std::max(absl::ZeroDuration(), now - job.checkpointed);
  return static_cast<double>(BillableUnits(job, job.workers())) *
         absl::ToDoubleSeconds(lost + options.restart_cost);
}

double CostOfShrinking(const QueuedJob& job, const VictimOptions& options) {
  return static_cast<double>(BillableUnits(job, job.workers())) *
         absl::ToDoubleSeconds(options.reshape_cost);
}

}  // namespace muster::control
