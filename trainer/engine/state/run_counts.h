#ifndef MUSTER_TRAINER_ENGINE_STATE_RUN_COUNTS_H_
#define MUSTER_TRAINER_ENGINE_STATE_RUN_COUNTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/commit/decide_step.h"
#include "trainer/commit/loss_scale.h"
#include "trainer/commit/spike_watch.h"
#include "trainer/commit/tunings.h"

namespace muster::trainer {

// A run's progress besides its version; part of the state.
struct RunCounts {
  int64_t updates = 0;  // applied; skipped steps do not count
  int64_t samples = 0;  // consumed: where in the data the next step begins
  SkippedSteps skipped;
  LossScale loss_scale;  // of the next step
  WatchedSteps watched;
  std::vector<Tuning> tunings;  // in force, in the order of their steps
  bool operator==(const RunCounts&) const = default;

  PastSteps past() const { return {skipped, loss_scale, watched}; }
};

// Returns all of the counts as numbers, the first of which says how many there are; ranks exchange
// and compare them so. Pure.
std::vector<int64_t> ToNumbers(const RunCounts& counts);
// DataLoss unless these are the numbers of some counts.
absl::StatusOr<RunCounts> CountsOf(std::span<const int64_t> numbers);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STATE_RUN_COUNTS_H_
