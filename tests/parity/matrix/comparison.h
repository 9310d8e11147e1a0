#ifndef MUSTER_TESTS_PARITY_MATRIX_COMPARISON_H_
#define MUSTER_TESTS_PARITY_MATRIX_COMPARISON_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/parity/matrix/curve.h"
#include "tests/parity/matrix/disturbed.h"
#include "tests/parity/matrix/verdict.h"
#include "tests/parity/toy_run.h"

namespace muster::trainer {

// Compares runs on several ranks with the same run on one rank, or in one other layout, number by
// number.
class Comparison {
 public:
  // Trains in the layout of `reference`. The numbers of other layouts may differ from these by
  // 1e-10 in FP64 and by 1e-5 in BF16 and FP16. Products for gradients of weights are not rounded
  // to FP16, as they are to BF16, so that sums differ and with them the last bits of some weights:
  // how far weights have moved may differ by 1e-4.
  static absl::StatusOr<Comparison> Make(const ToyRun& run, const MatrixRow& reference);

  // Compares the first steps of a run.
  std::vector<Figure> OfCurve(const Curve& curve, int64_t steps) const;
  // Compares every step of the run, which must all have been seen, and the last weights.
  std::vector<Figure> OfDisturbed(const DisturbedRun& run) const;

 private:
  Comparison(Curve one, double limit, double weights_limit)
      : one_(std::move(one)), limit_(limit), weights_limit_(weights_limit) {}

  Figure Seen(const std::string& what, const std::vector<SeenStep>& seen,
              double SeenStep::* of_seen, std::vector<double> Curve::* of_curve, int64_t begin,
              int64_t end) const;
  // Compares how far `steps` steps have moved the weights.
  Figure Weights(const std::string& what, const Tensors& ours, int64_t steps) const;

  Curve one_;  // one rank's
  double limit_, weights_limit_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_MATRIX_COMPARISON_H_
