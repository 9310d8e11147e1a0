#include "trainer/model/layers/fp8_linear.h"

#include <cmath>
#include <limits>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/ones_like.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros_like.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/kernels/fp8_matrix.h"
#include "trainer/model/weight_casts.h"

namespace muster::trainer {
namespace {

at::Tensor Leaf(std::vector<int64_t> shape, at::ScalarType type) {
  return at::randn(shape, type).requires_grad_(true);
}

at::Tensor Wide(const at::Tensor& x) { return x.detach().to(at::kDouble); }

// Returns how far a number of the matrix in FP8 may be off: half of the last of `digits` binary
// places, and half a step of the smallest numbers, 2^-least.
at::Tensor Off(const at::Tensor& x, double largest, int digits, int least) {
  const at::Tensor magnitude = Wide(x).abs();
  const double step = magnitude.max().item<double>() / largest * std::ldexp(1.0, -least - 1);
  return magnitude.mul(std::ldexp(1.0, -digits - 1)).clamp_min(step);
}
at::Tensor OffInE4m3(const at::Tensor& x) { return Off(x, 448, 3, 9); }
at::Tensor OffInE5m2(const at::Tensor& x) { return Off(x, 57344, 2, 16); }

// Expects the product of a and b, whose numbers are off so far, where `places` is the precision of
// the result. The sums in FP32 add little.
void ExpectProduct(const at::Tensor& got, const at::Tensor& a, const at::Tensor& off_a,
                   const at::Tensor& b, const at::Tensor& off_b, int places) {
  const at::Tensor exact = Wide(a).matmul(Wide(b)), error = (Wide(got) - exact).abs();
  const at::Tensor all = Wide(a).abs().matmul(Wide(b).abs());
  const at::Tensor bound = off_a.matmul(Wide(b).abs() + off_b) + Wide(a).abs().matmul(off_b) +
                           all.mul(1e-5 + 2 * std::ldexp(1.0, -places));
  EXPECT_TRUE(error.le(bound).all().item<bool>());
  const double relative = (error.norm() / exact.norm()).item<double>();
  EXPECT_LT(relative, 0.1);
  EXPECT_GT(relative, 0.01) << "the numbers were not FP8";
}

TEST(Fp8LinearTest, ProductsAreAsNearToFp64AsTheirNumbersAre) {
  for (const bool in_out : {false, true}) {
    const at::Tensor x = Leaf({64, 48}, at::kBFloat16), b = Leaf({80}, at::kFloat);
    const at::Tensor w =
        Leaf(in_out ? std::vector<int64_t>{48, 80} : std::vector<int64_t>{80, 48}, at::kFloat);
    const at::Tensor g = at::randn({64, 80}).mul(1e-6).to(at::kBFloat16);
    const at::Tensor y = Fp8Linear(x, w, std::nullopt, in_out), z = Fp8Linear(x, w, b, in_out);
    ASSERT_EQ(y.scalar_type(), at::kBFloat16);
    const at::Tensor w_in_out = in_out ? w : w.t();
    ExpectProduct(y, x, OffInE4m3(x), w_in_out, OffInE4m3(w_in_out), 8);
    EXPECT_LE((Wide(z) - Wide(y) - Wide(b)).abs().max().item<double>(), 0.25);
    const auto got = torch::autograd::grad({z}, {x, w, b}, {g});
    EXPECT_EQ(got[0].scalar_type(), at::kBFloat16);
    EXPECT_EQ(got[1].scalar_type(), at::kFloat);
    ExpectProduct(got[0], g, OffInE5m2(g), w_in_out.t(), OffInE4m3(w_in_out.t()), 8);
    const at::Tensor of_weight = in_out ? got[1] : got[1].t();
    ExpectProduct(of_weight, x.t(), OffInE4m3(x.t()), g, OffInE5m2(g), 24);
    EXPECT_TRUE(at::equal(got[2], g.sum(0).to(at::kFloat))) << "a bias is no product";
  }
}

TEST(Fp8LinearTest, SharedCastsGiveTheSameBitsInBothPasses) {
  for (const bool in_out : {false, true}) {
    const auto casts = c10::make_intrusive<WeightCasts>();
    const at::Tensor x = Leaf({48, 32}, at::kBFloat16), w = Leaf({32, 32}, at::kFloat);
    const at::Tensor g = at::randn({48, 32}, at::kBFloat16);
    const at::Tensor y = Fp8Linear(x, w, std::nullopt, in_out, casts);
    const at::Tensor want = Fp8Linear(x, w, std::nullopt, in_out);
    EXPECT_TRUE(at::equal(y, want));
    const auto expected = torch::autograd::grad({want}, {x, w}, {g});
    w.variable_data().zero_();
    const auto got = torch::autograd::grad({y}, {x, w}, {g});
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::equal(got[i], expected[i])) << i;
  }
}

TEST(Fp8LinearTest, LayersThatShareAnInputConvertItOnceAndHaveTheSameBits) {
  const at::Tensor x = Leaf({48, 32}, at::kFloat), g = at::randn({48, 16}, at::kBFloat16);
  const at::Tensor w[] = {Leaf({16, 32}, at::kFloat), Leaf({16, 32}, at::kFloat)};
  const auto gradients = [&](Fp8Input* shared) {
    std::vector<at::Tensor> outputs;
    for (const at::Tensor& each : w) {
      outputs.push_back(
          Fp8Linear(x.to(at::kBFloat16), each, std::nullopt, /*in_out=*/false, {}, shared));
    }
    std::vector<at::Tensor> all = torch::autograd::grad(outputs, {x, w[0], w[1]}, {g, g});
    all.insert(all.end(), outputs.begin(), outputs.end());
    return all;
  };
  Fp8Input shared;
  const auto got = gradients(&shared), want = gradients(nullptr);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::equal(got[i], want[i])) << i;
  const at::Tensor narrow = x.detach().to(at::kBFloat16);
  const Fp8Matrix kept = shared.Of(narrow, /*columns=*/true);
  EXPECT_TRUE(kept.columns.is_same(shared.Of(narrow, true).columns));
  EXPECT_TRUE(kept.rows.is_same(shared.Of(narrow, false).rows));
}

TEST(Fp8LinearTest, AnInputWithoutColumnsIsConvertedAgainForALayerThatNeedsThem) {
  const at::Tensor x = at::randn({16, 32}).to(at::kBFloat16);
  Fp8Input input;
  EXPECT_FALSE(input.Of(x, /*columns=*/false).columns.defined());
  const Fp8Matrix both = input.Of(x, /*columns=*/true);
  EXPECT_TRUE(at::equal(both.columns.to(at::kFloat), both.rows.t().to(at::kFloat)));
}

TEST(Fp8LinearTest, TheWeightsGradientIsAddedInFp32WhereALeafHasMemory) {
  const at::Tensor x = at::randn({48, 32}).to(at::kBFloat16);
  const at::Tensor g = at::randn({48, 16}).to(at::kBFloat16);
  const at::Tensor w = Leaf({16, 32}, at::kFloat);
  const at::Tensor product =
      torch::autograd::grad({Fp8Linear(x, w, std::nullopt, false)}, {w}, {g})[0];
  const at::Tensor memory = at::ones_like(w).mul(1.0 + 1.0 / 4096);
  w.mutable_grad() = memory;
  const at::Tensor want = memory.add(product);
  torch::autograd::backward({Fp8Linear(x, w, std::nullopt, false)}, {g});
  EXPECT_TRUE(w.grad().is_same(memory));
  EXPECT_TRUE(at::equal(memory, want));
}

TEST(Fp8LinearTest, ANumberThatIsNotFiniteReachesTheLossAndTheGradients) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const at::Tensor x = Leaf({16, 16}, at::kBFloat16), w = Leaf({16, 16}, at::kFloat);
    at::Tensor bad_x = x.detach().clone(), bad_g = at::randn({16, 16}, at::kBFloat16);
    bad_x[1][2] = bad;
    EXPECT_TRUE(Fp8Linear(bad_x, w, std::nullopt, false).isnan().any().item<bool>());
    bad_g[3][4] = bad;
    const auto gradients =
        torch::autograd::grad({Fp8Linear(x, w, std::nullopt, true)}, {x, w}, {bad_g});
    for (const at::Tensor& gradient : gradients) {
      EXPECT_TRUE(gradient.isnan().any().item<bool>()) << bad;
    }
  }
}

TEST(Fp8LinearTest, EqualInputsGiveEqualBits) {
  const at::Tensor x = at::randn({64, 32}).to(at::kBFloat16), w = at::randn({32, 48});
  EXPECT_TRUE(at::equal(Fp8Linear(x, w, std::nullopt, true),
                        Fp8Linear(x.clone(), w.clone(), std::nullopt, true)));
}

}  // namespace
}  // namespace muster::trainer
