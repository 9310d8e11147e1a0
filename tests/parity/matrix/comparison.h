#ifndef MUSTER_TESTS_PARITY_MATRIX_COMPARISON_H_
#define MUSTER_TESTS_PARITY_MATRIX_COMPARISON_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/parity/matrix/curve.h"
#include "tests/parity/matrix/disturbed.h"
#include "tests/parity/matrix/verdict.h"
#include "tests/parity/toy_run.h"

namespace muster::trainer {

// Compares runs on several ranks with the same run on one rank. In FP64 and FP32 each number is
// compared with one rank's. In BF16 rounding is so coarse that only distances can be compared: a
// row may be no further from one rank in FP32 than kBf16Factor times as far as one rank in BF16 is
// that cuts its steps into as many micro-batches as some row does, from the same weights or from
// such that are nudged, whichever is furthest: twelve runs that round by chance, as the rows do.
class Comparison {
 public:
  static constexpr double kBf16Factor = 1.5;
  // Losses that are closer to FP32's than this count as equal: rounding a step's logits to BF16,
  // which changes each by up to 2^-9, changes the mean over its 384 tokens by 2^-9 / sqrt(384),
  // twice that by chance.
  static constexpr double kBf16LossNoise = 2e-4;

  // Trains on one rank.
  static absl::StatusOr<Comparison> Make(const ToyRun& run);

  // Compares the first kComparedSteps of a run.
  std::vector<Figure> OfCurve(const Curve& curve) const;
  // Compares every step that was seen, of which none may be missing, and the last weights.
  std::vector<Figure> OfDisturbed(const DisturbedRun& run) const;

 private:
  Comparison(const ToyRun& run, std::vector<Curve> ones, std::optional<Curve> exact);

  Figure Numbers(const std::string& what, const std::vector<double>& ours,
                 std::vector<double> Curve::* of_curve, size_t begin, size_t end) const;
  Figure Seen(const std::string& what, const std::vector<SeenStep>& seen,
              double SeenStep::* of_seen, std::vector<double> Curve::* of_curve, int64_t begin,
              int64_t end) const;
  Figure Gradients(const std::string& what, const Tensors& ours, Tensors Curve::* of_curve,
                   bool first) const;
  // Compares how far weights have moved.
  Figure Weights(const std::string& what, const Tensors& ours, Tensors Curve::* of_curve) const;
  double Limit(bool first) const;
  // Returns the limit of a distance, from the distance of each of ones_.
  double FarthestOf(const std::function<double(const Curve&)>& distance) const;
  // Does the same for numbers of a curve.
  double FarthestOf(std::vector<double> Curve::* of_curve,
                    const std::function<double(const Curve&)>& distance) const;
  const Curve& one() const { return ones_.front(); }

  ToyRun run_;
  std::vector<Curve> ones_;     // one rank; in BF16 with every cut, nudged and not
  std::optional<Curve> exact_;  // one rank in FP32, if ones_ are in BF16
};

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_MATRIX_COMPARISON_H_
