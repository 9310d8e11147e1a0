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

TEST(WeightCastsTest, AnotherTypeIsAnotherCastAndTheWeightsOwnIsNone) {
  WeightCasts casts;
  const at::Tensor weight = Weight();
  EXPECT_TRUE(casts.Of(weight, at::kFloat).is_same(weight));
  EXPECT_EQ(casts.Of(weight, at::kBFloat16).scalar_type(), at::kBFloat16);
  EXPECT_EQ(casts.Of(weight, at::kDouble).scalar_type(), at::kDouble);
}

}  // namespace
}  // namespace muster::trainer
