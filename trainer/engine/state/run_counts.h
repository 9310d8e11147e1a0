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
  int64_t samples = 0;  // consumed so far; the next step's data begins there
  SkippedSteps skipped;
  LossScale loss_scale;  // for the next step
  WatchedSteps watched;
  std::vector<Tuning> tunings;  // in force, in the order of their steps
  bool operator==(const RunCounts&) const = default;

  PastSteps past() const { return {skipped, loss_scale, watched}; }
};

// Returns all of the counts as numbers, for ranks to exchange and compare. The first number says
// how many there are, itself included. Pure.
std::vector<int64_t> ToNumbers(const RunCounts& counts);
// The inverse of ToNumbers(). DataLoss if `numbers` cannot come from it.
absl::StatusOr<RunCounts> CountsOf(std::span<const int64_t> numbers);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STATE_RUN_COUNTS_H_
