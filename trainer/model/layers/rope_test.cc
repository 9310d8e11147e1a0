#include "trainer/model/layers/rope.h"

#include <cmath>
#include <numbers>

#include "ATen/TensorOperators.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/randn.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"

namespace muster::trainer {
namespace {

using planner::ModelShape;
using planner::RopeScaling;

ModelShape Shape(RopeScaling scaling) {
  return {.heads = 2, .width = 16, .rope_theta = 10000, .rope_scaling = scaling};
}

at::Tensor Positions(int64_t n) { return at::arange(n, at::TensorOptions().dtype(at::kLong)); }

TEST(RopeFrequenciesTest, FallFromOneTurnPerPositionByPowersOfTheta) {
  const at::Tensor frequencies = RopeFrequencies(Shape({}), at::kDouble);
  ASSERT_EQ(frequencies.numel(), 4);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(frequencies[i].item<double>(), std::pow(10000.0, -static_cast<double>(i) / 4),
                1e-15);
  }
}

TEST(RopeFrequenciesTest, LinearScalingDividesThemAll) {
  const at::Tensor plain = RopeFrequencies(Shape({}), at::kDouble);
  const at::Tensor scaled =
      RopeFrequencies(Shape({.kind = RopeScaling::Kind::kLinear, .factor = 4}), at::kDouble);
  EXPECT_TRUE(at::equal(scaled, plain / 4));
}

// With 100 positions the four pairs turn 15.9, 1.59, 0.159 and 0.0159 times.
TEST(RopeFrequenciesTest, Llama3ScalingKeepsHighOnesAndDividesLowOnes) {
  const at::Tensor plain = RopeFrequencies(Shape({}), at::kDouble);
  const at::Tensor scaled = RopeFrequencies(Shape({.kind = RopeScaling::Kind::kLlama3,
                                                   .factor = 8,
                                                   .low_frequency_factor = 1,
                                                   .high_frequency_factor = 4,
                                                   .original_positions = 100}),
                                            at::kDouble);
  EXPECT_DOUBLE_EQ(scaled[0].item<double>(), plain[0].item<double>());
  const double share = (10.0 / (2 * std::numbers::pi) - 1) / 3;
  EXPECT_NEAR(scaled[1].item<double>(), 0.1 * (share + (1 - share) / 8), 1e-15);
  EXPECT_NEAR(scaled[2].item<double>(), 0.01 / 8, 1e-15);
  EXPECT_NEAR(scaled[3].item<double>(), 0.001 / 8, 1e-15);
}

TEST(TurnTest, AScoreDependsOnTheDistanceAlone) {
  RopeTable table(Shape({}));
  const RopeAngles& angles = table.For(Positions(9), at::kDouble);
  const at::Tensor q = at::randn({8}, at::kDouble), k = at::randn({8}, at::kDouble);
  const auto all = [&](const at::Tensor& x) {
    return Turn(x.view({1, 1, 1, 8}).expand({1, 1, 9, 8}), angles)[0][0];
  };
  const at::Tensor scores = all(q).matmul(all(k).t());  // [query, key]
  for (int64_t i = 1; i < 8; ++i) {
    EXPECT_NEAR(scores[i][i + 1].item<double>(), scores[0][1].item<double>(), 1e-12);
    EXPECT_NEAR(scores[i][i].item<double>(), q.dot(k).item<double>(), 1e-12);
  }
}

TEST(TurnTest, TheGradientIsTheTurnBack) {
  RopeTable table(Shape({}));
  const RopeAngles angles = table.For(Positions(5), at::kDouble);
  const at::Tensor x = at::randn({2, 2, 5, 8}, at::kDouble).requires_grad_(true);
  const at::Tensor g = at::randn({2, 2, 5, 8}, at::kDouble);
  const at::Tensor got = torch::autograd::grad({Turn(x, angles)}, {x}, {g})[0];
  const at::Tensor a = x.narrow(-1, 0, 4), b = x.narrow(-1, 4, 4);
  const at::Tensor plain =
      at::cat({a * angles.cosine - b * angles.sine, b * angles.cosine + a * angles.sine}, -1);
  EXPECT_TRUE(at::equal(Turn(x, angles), plain));
  const at::Tensor want = torch::autograd::grad({plain}, {x}, {g})[0];
  EXPECT_LT((got - want).abs().max().item<double>(), 1e-14);
}

TEST(RopeTableTest, AnglesFollowThePositionsAndTheType) {
  RopeTable table(Shape({}));
  const at::Tensor all = table.For(Positions(6), at::kFloat).cosine;
  EXPECT_EQ(all.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(table.For(Positions(6) + 1, at::kFloat).cosine.narrow(0, 0, 5),
                        all.narrow(0, 1, 5)));
  EXPECT_EQ(table.For(Positions(6), at::kDouble).cosine.scalar_type(), at::kDouble);
  EXPECT_EQ(table.For(Positions(6), at::kBFloat16).cosine.scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace muster::trainer
