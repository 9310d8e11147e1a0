#include "trainer/model/layers/matrix_product.h"

#include <tuple>

#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/ones_like.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros_like.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble)
      .sub(b.to(at::kDouble))
      .norm()
      .div(b.to(at::kDouble).norm())
      .item<double>();
}

// Few rows and many, and a sum of more than one block.
constexpr std::tuple<int64_t, int64_t, int64_t> kShapes[] = {
    {5, 7, 3}, {64, 300, 200}, {600, 300, 200}, {600, 3500, 700}};

TEST(AddProductTest, AddsTheScaledProductOfTensorsOfAnyStrides) {
  for (const auto& [rows, m, n] : kShapes) {
    for (const auto& [type, tolerance] :
         {std::tuple{at::kDouble, 1e-13}, std::tuple{at::kFloat, 2e-6},
          std::tuple{at::kBFloat16, 1e-2}, std::tuple{at::kHalf, 2e-6}}) {
      const at::Tensor a = at::randn({rows, m}, type), b = at::randn({rows, n}, type);
      const auto wide = type == at::kDouble ? at::kDouble : at::kFloat;
      const at::Tensor before = at::randn({m, n}, wide);
      const at::Tensor want =
          before.to(at::kDouble).add(a.t().to(at::kDouble).matmul(b.to(at::kDouble)), 0.25);
      const at::Tensor sum = before.clone();
      AddProduct(sum, a.t(), b, Factor(0.25));
      EXPECT_LT(Distance(sum, want), tolerance) << rows << " " << m << " " << n << " " << type;
    }
  }
}

TEST(AddToGradientTest, OnlyALeafThatHasAGradientIsAddedTo) {
  const at::Tensor a = at::randn({6, 4}), b = at::randn({4, 3}), product = a.matmul(b);
  const at::Tensor leaf = at::ones({6, 3}).requires_grad_(true);
  EXPECT_LT(Distance(AddToGradient(leaf, a, b, Factor(2.0)), product.mul(2)), 1e-6);
  EXPECT_LT(Distance(AddToGradient(leaf, product, Factor(2.0)), product.mul(2)), 1e-6);
  EXPECT_FALSE(leaf.grad().defined());
  const at::Tensor inner = leaf.mul(1);
  EXPECT_LT(Distance(AddToGradient(inner, a, b), product), 1e-6);

  const at::Tensor memory = at::zeros_like(leaf);
  leaf.mutable_grad() = memory;
  EXPECT_FALSE(AddToGradient(leaf, a, b, Factor(2.0)).defined());
  EXPECT_FALSE(AddToGradient(leaf, product, Factor(3.0)).defined());
  EXPECT_TRUE(leaf.grad().is_same(memory));
  EXPECT_LT(Distance(memory, product.mul(5)), 1e-6);
}

TEST(AddToGradientTest, ProductsOfBf16AreAddedToTheGradientOfAnFp32Weight) {
  const at::Tensor a = at::randn({6, 40}, at::kBFloat16), b = at::randn({40, 3}, at::kBFloat16);
  const at::Tensor product = a.to(at::kDouble).matmul(b.to(at::kDouble));
  const at::Tensor leaf = at::ones({6, 3}).requires_grad_(true);
  const at::Tensor returned = AddToGradient(leaf, a, b);
  EXPECT_EQ(returned.scalar_type(), at::kFloat);
  EXPECT_LT(Distance(returned, product), 1e-2);
  leaf.mutable_grad() = at::ones_like(leaf);
  EXPECT_FALSE(AddToGradient(leaf, a, b).defined());
  EXPECT_LT(Distance(leaf.grad().sub(1), product), 1e-2);
}

// The largest number of FP16 is 65,504, and gradients of a scaled loss are sums of many rows.
TEST(AddToGradientTest, ProductsOfFp16MayBeLargerThanItsNumbers) {
  const at::Tensor a = at::full({6, 400}, 100.0, at::kHalf), b = at::full({400, 3}, 2.0, at::kHalf);
  const at::Tensor leaf = at::ones({6, 3}).requires_grad_(true);
  EXPECT_TRUE(at::equal(AddToGradient(leaf, a, b), at::full({6, 3}, 80'000.0)));
}

TEST(ProductTest, ProductsOfFp16AreRoundedOnce) {
  const at::Tensor a = at::randn({9, 600}).to(at::kHalf), b = at::randn({600, 7}).to(at::kHalf);
  const at::Tensor want = a.to(at::kDouble).matmul(b.to(at::kDouble));
  const at::Tensor product = Product(a, b), linear = TimesTransposed(a, b.t());
  EXPECT_EQ(product.scalar_type(), at::kHalf);
  EXPECT_EQ(linear.scalar_type(), at::kHalf);
  EXPECT_LT(Distance(product, want), 5e-4);
  EXPECT_LT(Distance(linear, want), 5e-4);
  const at::Tensor bias = at::randn({7}).to(at::kHalf);
  EXPECT_LT(Distance(TimesTransposed(a, b.t(), bias), want.add(bias)), 5e-4);
}

TEST(TimesTransposedTest, TheSameProductTwiceIsTheSameBits) {
  const at::Tensor x = at::randn({128, 64}), w = at::randn({256, 64}), b = at::randn({256});
  EXPECT_TRUE(at::equal(TimesTransposed(x, w, b), TimesTransposed(x.clone(), w.clone(), b)));
}

}  // namespace
}  // namespace muster::trainer
