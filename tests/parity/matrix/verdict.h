#ifndef MUSTER_TESTS_PARITY_MATRIX_VERDICT_H_
#define MUSTER_TESTS_PARITY_MATRIX_VERDICT_H_

#include <map>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"

// The comparisons of the parity matrix. A number that is not finite, missing or of another shape
// never passes.
namespace muster::trainer {

using Tensors = std::map<std::string, at::Tensor>;

// The result of one comparison.
struct Figure {
  std::string what;
  double error = 0;
  double limit = 0;
  bool passes() const { return error <= limit; }  // false for NaN
};

// Returns the largest relative error of the numbers; infinity unless there are `count` on both
// sides, at least one, and all are finite.
double WorstError(const std::vector<double>& ours, const std::vector<double>& theirs, size_t count);

// Returns the relative error, by norm, of the worst tensor; infinity unless both sides have the
// same names and shapes, at least one, and all numbers are finite.
double WorstError(const Tensors& ours, const Tensors& theirs);

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_MATRIX_VERDICT_H_
