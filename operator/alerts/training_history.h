#ifndef MUSTER_OPERATOR_ALERTS_TRAINING_HISTORY_H_
#define MUSTER_OPERATOR_ALERTS_TRAINING_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace muster::control {

// A step as its report told it.
struct TrainedStep {
  int64_t step = 0;
  // NaN or infinite if training diverged; absent if a command reported the step without a loss.
  std::optional<double> loss;
  int64_t tokens = 0;          // since the step reported before it
  int64_t finished_at_us = 0;  // wall clock of the worker, since the epoch
};

struct ValidationPoint {
  int64_t step = 0;
  double loss = 0;
};

// The part of a job's reports that alert rules need. Steps that a later round took back are not in
// it.
struct TrainingHistory {
  // The number of steps before the new ones that are kept for comparison.
  static constexpr size_t kStepsBefore = 100;
  static constexpr size_t kValidations = 1024;

  int64_t round = 0;       // of the newest report; 0: there was none
  int64_t first_step = 0;  // the first step that was reported in `round`
  // The steps after the last one that was evaluated, and up to kStepsBefore before them; oldest
  // first.
  std::vector<TrainedStep> steps;
  // The newest validations, oldest first, and the lowest loss of those before them.
  std::vector<ValidationPoint> validations;
  std::optional<double> best_before;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_ALERTS_TRAINING_HISTORY_H_
