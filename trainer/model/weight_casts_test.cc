#include "trainer/model/weight_casts.h"

#include <vector>

#include "ATen/ops/equal.h"
#include "ATen/ops/randn.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

at::Tensor Weight() { return at::randn({4, 8}, at::kFloat).requires_grad_(true); }

TEST(WeightCastsTest, AWeightIsCastOnceUntilItIsForgotten) {
  WeightCasts casts;
  const at::Tensor weight = Weight(), other = Weight();
  const at::Tensor cast = casts.Of(weight, at::kBFloat16);
  EXPECT_TRUE(at::equal(cast, weight.detach().to(at::kBFloat16)));
  EXPECT_FALSE(cast.requires_grad());
  weight.variable_data().mul_(2);
  EXPECT_TRUE(casts.Of(weight, at::kBFloat16).is_same(cast));
  const at::Tensor kept = casts.Of(other, at::kBFloat16);
  casts.Forget(std::vector{weight});
  EXPECT_TRUE(at::equal(casts.Of(weight, at::kBFloat16), cast.mul(2)));
  EXPECT_TRUE(casts.Of(other, at::kBFloat16).is_same(kept));
  casts.ForgetAll();
  EXPECT_FALSE(casts.Of(other, at::kBFloat16).is_same(kept));
}

TEST(WeightCastsTest, WeightsOfOneMemoryAreViewsOfOneCopy) {
  WeightCasts casts;
  const at::Tensor flat = at::randn({64}, at::kFloat);
  const at::Tensor matrix = flat.narrow(0, 8, 32).view({4, 8}).requires_grad_(true);
  const at::Tensor turned = flat.narrow(0, 40, 24).view({8, 3}).t();
  const at::Tensor cast = casts.Of(matrix, at::kBFloat16);
  EXPECT_TRUE(at::equal(cast, matrix.detach().to(at::kBFloat16)));
  EXPECT_FALSE(cast.requires_grad());
  EXPECT_TRUE(at::equal(casts.Of(turned, at::kBFloat16), turned.to(at::kBFloat16)));
  EXPECT_EQ(casts.Of(turned, at::kBFloat16).strides(), turned.strides());
  EXPECT_TRUE(casts.Of(turned, at::kBFloat16).is_alias_of(cast));
  flat.mul_(2);
  casts.Forget(std::vector{turned});
  EXPECT_TRUE(at::equal(casts.Of(matrix, at::kBFloat16), cast.mul(2)));
}

TEST(WeightCastsTest, AnotherTypeIsAnotherCastAndTheWeightsOwnIsNone) {
  WeightCasts casts;
  const at::Tensor weight = Weight();
  EXPECT_TRUE(casts.Of(weight, at::kFloat).is_same(weight));
  EXPECT_EQ(casts.Of(weight, at::kBFloat16).scalar_type(), at::kBFloat16);
  EXPECT_EQ(casts.Of(weight, at::kDouble).scalar_type(), at::kDouble);
}

TEST(WeightCastsTest, AMatrixInFp8IsKeptBesideOtherCastsUntilItIsForgotten) {
  WeightCasts casts;
  const at::Tensor weight = Weight();
  const Fp8Matrix fp8 = casts.Fp8Of(weight);
  const at::Tensor cast = casts.Of(weight, at::kBFloat16);
  EXPECT_TRUE(casts.Fp8Of(weight).rows.is_same(fp8.rows));
  EXPECT_TRUE(casts.Of(weight, at::kBFloat16).is_same(cast));
  EXPECT_EQ(fp8.rows.scalar_type(), at::kFloat8_e4m3fn);
  EXPECT_EQ(fp8.columns.sizes(), weight.t().sizes());
  EXPECT_FALSE(fp8.rows.requires_grad());
  weight.variable_data().mul_(2);
  EXPECT_TRUE(casts.Fp8Of(weight).rows.is_same(fp8.rows));
  casts.Forget(std::vector{weight});
  EXPECT_TRUE(at::equal(casts.Fp8Of(weight).unscale, fp8.unscale.mul(2)));
}

}  // namespace
}  // namespace muster::trainer
