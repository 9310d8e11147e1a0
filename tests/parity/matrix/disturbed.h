#ifndef MUSTER_TESTS_PARITY_MATRIX_DISTURBED_H_
#define MUSTER_TESTS_PARITY_MATRIX_DISTURBED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/parity/matrix/rows.h"
#include "tests/parity/matrix/verdict.h"
#include "tests/parity/toy_run.h"

namespace muster::trainer {

// A step as some rank reported or remembered it; one that was redone is there several times.
struct SeenStep {
  int64_t step = 0;
  double loss = 0.0, norm = 0.0;
};

// A run of kMatrixSteps in which a rank was lost, and whose ranks were replaced by others.
struct DisturbedRun {
  std::string loss;    // when the rank was lost, for people
  std::string resume;  // the reason for which the others went on as they did
  std::vector<SeenStep> steps;
  Tensors last_weights;  // from the checkpoint of the last step
};

// Trains the run with whole trainers on threads, which save every three steps. At a random moment
// after step 1 a random rank is lost; the others go on from the point that the operator decides, in
// the layout that it gives so many ranks, up to kComparedSteps. Trainers of the layout `loaded`
// take the rest of the steps from there, from the checkpoint. Equal seeds give equal moments.
absl::StatusOr<DisturbedRun> TrainDisturbed(const ToyRun& run, const MatrixRow& row,
                                            const MatrixRow& loaded, uint64_t seed);

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_MATRIX_DISTURBED_H_
