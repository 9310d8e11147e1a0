#ifndef MUSTER_TESTS_PARITY_MATRIX_CURVE_H_
#define MUSTER_TESTS_PARITY_MATRIX_CURVE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tests/parity/matrix/rows.h"
#include "tests/parity/matrix/verdict.h"
#include "tests/parity/toy_run.h"
#include "trainer/engine/training_state.h"

namespace muster::trainer {

// The step whose gradients and weights are compared besides the first's.
inline constexpr int64_t kComparedSteps = 20;

// The numbers of a run, as one rank sees them.
struct Curve {
  std::vector<double> losses, norms;  // by step, from 1
  Tensors initial;                    // weights
  Tensors first_gradients;            // of step 1, as they are reduced
  Tensors gradients;                  // of step kComparedSteps
  Tensors weights;                    // after step kComparedSteps
  Tensors last_weights;               // after the last step
};

// Returns a copy of the tensors of a model. The biases of attention's keys are zeros in it: softmax
// ignores them, so that their gradient is only rounding error, which AdamW scales to full steps.
Tensors CopyOf(const std::vector<NamedTensor>& tensors, const ToyRun& run);

// A change of the weights that is small beside what BF16 rounds them by, and has other weights
// rounded up and down.
inline constexpr double kNudge = 1e-4;

// Trains the run for so many steps on ranks that are threads, divided as `row` says. `nudged`, for
// one rank only: each initial weight is changed at random by about kNudge of itself. An error is
// that of the first rank that fails for a reason of its own.
absl::StatusOr<Curve> TrainCurve(const ToyRun& run, const MatrixRow& row, int64_t steps,
                                 bool nudged = false);

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_MATRIX_CURVE_H_
