#include "trainer/model/layers/alibi.h"

#include <cmath>

#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(AlibiSlopesTest, ArePowersThatEndAtTwoToTheMinusEight) {
  const at::Tensor slopes = AlibiSlopes(8, at::kFloat);
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(slopes[i].item<float>(), std::exp2f(-1.0F - i));
  EXPECT_NEAR(AlibiSlopes(16, at::kDouble)[0].item<double>(), std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(AlibiSlopes(16, at::kDouble)[15].item<double>(), std::exp2(-8), 1e-15);
}

// BLOOM-176B has 112 heads: the slopes of 64, and the odd ones of 128.
TEST(AlibiSlopesTest, OddNumbersOfHeadsTakeEverySecondSlopeOfTheNextPower) {
  const at::Tensor slopes = AlibiSlopes(112, at::kDouble);
  ASSERT_EQ(slopes.numel(), 112);
  EXPECT_NEAR(slopes[63].item<double>(), std::exp2(-8), 1e-15);
  for (int64_t i = 0; i < 48; ++i) {
    EXPECT_NEAR(slopes[64 + i].item<double>(), std::exp2(-(2.0 * i + 1) / 16), 1e-14) << i;
  }
  EXPECT_EQ(AlibiSlopes(1, at::kFloat).numel(), 1);
}

TEST(AlibiTableTest, FallWithTheDistanceAndHideTheFuture) {
  AlibiTable table(2);
  const at::Tensor positions = at::arange(4, at::TensorOptions().dtype(at::kLong));
  const at::Tensor biases = table.For(positions, {0, 2}, at::kFloat);
  EXPECT_EQ(biases.sizes(), (at::IntArrayRef{1, 2, 4, 4}));
  for (int64_t q = 0; q < 4; ++q) {
    for (int64_t k = 0; k < 4; ++k) {
      const float bias = biases[0][1][q][k].item<float>();
      if (k > q) {
        EXPECT_EQ(bias, -INFINITY);
      } else {
        EXPECT_EQ(bias, static_cast<float>(k - q) / 256.0F);
      }
    }
  }
  EXPECT_EQ(table.For(positions.narrow(0, 0, 2), {0, 2}, at::kFloat).size(-1), 2)
      << "the table is stale";
  EXPECT_EQ(table.For(positions, {0, 2}, at::kDouble).scalar_type(), at::kDouble);
  const at::Tensor second = table.For(positions, {1, 1}, at::kDouble);
  EXPECT_TRUE(at::equal(second, AlibiTable(2).For(positions, {0, 2}, at::kDouble).narrow(1, 1, 1)));
}

}  // namespace
}  // namespace muster::trainer
