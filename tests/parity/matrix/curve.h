#ifndef MUSTER_TESTS_PARITY_MATRIX_CURVE_H_
#define MUSTER_TESTS_PARITY_MATRIX_CURVE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/parity/matrix/rows.h"
#include "tests/parity/matrix/verdict.h"
#include "tests/parity/toy_run.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// Gradients of the first step and of this one are compared, and the weights after them.
inline constexpr int64_t kComparedSteps = 6;
// A run that ranks of another layout go on with ends here.
inline constexpr int64_t kMatrixSteps = 9;

// The numbers of a run, as one rank sees them.
struct Curve {
  std::vector<double> losses, norms;  // by step, from 1
  // Gradients as they are reduced, of steps 1 and kComparedSteps; weights after these and the last
  // step, and, as step 0, the initial ones.
  std::map<int64_t, Tensors> gradients, weights;
};

// Returns a copy of the tensors of a whole model. The biases of attention's keys are zeros in it:
// softmax ignores them, so that their gradient is only rounding error, which AdamW scales to full
// steps.
Tensors CopyOf(const std::vector<NamedTensor>& tensors, const ToyRun& run);

// Trains the first `steps` steps of the run in the layout of `row`; each rank is a thread. What
// ranks have parts of is put together. An error is that of the first rank that fails for a reason
// of its own.
absl::StatusOr<Curve> TrainCurve(const ToyRun& run, const MatrixRow& row, int64_t steps);

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_MATRIX_CURVE_H_
