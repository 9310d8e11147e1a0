#ifndef MUSTER_OPERATOR_CORE_SAVES_SAVE_INTERVAL_H_
#define MUSTER_OPERATOR_CORE_SAVES_SAVE_INTERVAL_H_

#include "absl/time/time.h"
#include "operator/core/state/draft.h"

namespace muster::control {

// The record of a job's failures and of the cost of its checkpoints.
struct SaveCosts {
  absl::Duration stall;     // the time that a save keeps ranks from training; zero: not known
  absl::Duration write;     // from the beginning of a save until it is durable
  absl::Duration observed;  // the time that the job has been active
  int failures = 0;         // in that time, of whatever cause
  int workers = 1;
};

// Returns the mean time between failures of the job. It begins with what is known of large clusters
// (6.5 failures in 1,000 node-days: Kokolis et al., 2025, "Revisiting Reliability in Large-Scale
// Machine Learning Research Clusters") as if one failure had been observed at that rate, and
// follows the job's own record from there.
absl::Duration MeanTimeBetweenFailures(const SaveCosts& costs);

// Returns the interval between saves that loses the least time to stalls and to work that failures
// undo, sqrt(2 * stall * mean time between failures): Young, 1974, "A first order approximation to
// the optimum checkpoint interval"; Daly, 2006. It is at least twice `write`, so that the storage
// is busy at most half of the time, and within [least, most]; `most` wins over every other bound.
// While the stall is not known, it is `least`: the first save measures it.
absl::Duration SaveInterval(const SaveCosts& costs, absl::Duration least, absl::Duration most);

// Policy: with checkpoint.interval.mode Auto, orders a checkpoint whenever SaveInterval() is over
// and the job has its turn (JobView::may_save). Should the operator be away, or the turn not come,
// the trainer saves by itself when `max` is over. Whatever the mode, Plan::save_turn says whether
// the job writes.
void SaveAtIntervals(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_SAVES_SAVE_INTERVAL_H_
