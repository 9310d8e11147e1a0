#include "tests/parity/matrix/verdict.h"

#include <cmath>
#include <limits>

#include "ATen/ops/full.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensors Weights() {
  return {{"a", at::full({2, 3}, 1.0, at::kDouble)}, {"b", at::full({4}, 2.0, at::kDouble)}};
}

Tensors With(const std::string& name, const at::Tensor& tensor) {
  Tensors weights = Weights();
  weights[name] = tensor;
  return weights;
}

bool CurvesPass(const std::vector<double>& ours, const std::vector<double>& theirs, size_t count) {
  return Figure{"", WorstError(ours, theirs, count), 1e-3}.passes();
}

bool TensorsPass(const Tensors& ours, const Tensors& theirs) {
  return Figure{"", WorstError(ours, theirs), 1e-3}.passes();
}

TEST(VerdictTest, EqualCurvesPassAndAWrongNumberFailsAtAnyStep) {
  EXPECT_TRUE(CurvesPass({4.0, 3.0, 2.0}, {4.0, 3.0, 2.0}, 3));
  for (size_t step = 0; step < 3; ++step) {
    for (const double wrong : {5.0, kNan, std::numeric_limits<double>::infinity()}) {
      std::vector<double> ours = {4.0, 3.0, 2.0};
      ours[step] = wrong;
      EXPECT_FALSE(CurvesPass(ours, {4.0, 3.0, 2.0}, 3)) << wrong;
      EXPECT_FALSE(CurvesPass({4.0, 3.0, 2.0}, ours, 3)) << wrong;
      EXPECT_FALSE(CurvesPass(ours, ours, 3) && !std::isfinite(wrong)) << wrong;
    }
  }
}

TEST(VerdictTest, TooFewStepsFailEvenWhereBothSidesLackThem) {
  EXPECT_FALSE(CurvesPass({4.0, 3.0}, {4.0, 3.0, 2.0}, 3));
  EXPECT_FALSE(CurvesPass({4.0, 3.0}, {4.0, 3.0}, 3));
  EXPECT_FALSE(CurvesPass({}, {}, 0));
}

TEST(VerdictTest, EqualTensorsPassAndAWrongOrMissingOneFails) {
  EXPECT_TRUE(TensorsPass(Weights(), Weights()));
  EXPECT_FALSE(TensorsPass(With("b", at::full({4}, 2.1, at::kDouble)), Weights()));
  EXPECT_FALSE(TensorsPass(With("b", at::full({2, 2}, 2.0, at::kDouble)), Weights()));
  EXPECT_FALSE(TensorsPass(With("b", at::full({4}, kNan, at::kDouble)), Weights()));
  EXPECT_FALSE(TensorsPass(Weights(), With("a", at::full({2, 3}, kNan, at::kDouble))));
  EXPECT_FALSE(TensorsPass({{"a", Weights()["a"]}}, Weights()));
  EXPECT_FALSE(TensorsPass(With("c", Weights()["a"]), Weights()));
  EXPECT_FALSE(TensorsPass({}, {}));
}

TEST(VerdictTest, ALimitThatIsNotANumberIsMetByNothing) {
  EXPECT_FALSE((Figure{"", 0.0, kNan}.passes()));
  EXPECT_FALSE((Figure{"", kNan, 1.0}.passes()));
}

}  // namespace
}  // namespace muster::trainer
