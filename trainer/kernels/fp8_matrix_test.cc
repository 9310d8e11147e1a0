#include "trainer/kernels/fp8_matrix.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "ATen/TensorOperators.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/tensor.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

at::Tensor Values(const Fp8Matrix& matrix) {
  return matrix.rows.to(at::kDouble).mul(matrix.unscale.to(at::kDouble));
}

TEST(ToFp8Test, NumbersAreOffByHalfOfALastPlaceAtMost) {
  for (const auto input : {at::kFloat, at::kBFloat16}) {
    const at::Tensor x = at::randn({96, 48}).mul(7.0).to(input);
    for (const at::Tensor& matrix : {x, x.t()}) {
      const at::Tensor exact = matrix.to(at::kDouble);
      for (const auto& [type, digits, least] :
           {std::tuple{at::kFloat8_e4m3fn, 3, 9}, std::tuple{at::kFloat8_e5m2, 2, 16}}) {
        const Fp8Matrix fp8 = ToFp8(matrix, type, /*columns=*/true);
        ASSERT_EQ(fp8.rows.scalar_type(), type);
        EXPECT_TRUE(fp8.rows.is_contiguous());
        EXPECT_TRUE(fp8.columns.is_contiguous());
        EXPECT_TRUE(at::equal(fp8.columns.view(at::kByte), fp8.rows.t().view(at::kByte)));
        // Below its normal numbers the type has equal steps.
        const double step = std::ldexp(fp8.unscale.item<double>(), -least - 1);
        const at::Tensor bound =
            exact.abs().mul(std::ldexp(1.0, -digits - 1)).clamp_min(step).mul(1 + 1e-6);
        EXPECT_TRUE((Values(fp8) - exact).abs().le(bound).all().item<bool>()) << type;
        EXPECT_EQ(fp8.rows.to(at::kFloat).abs().max().item<float>(), LargestOfFp8(type));
      }
    }
  }
}

TEST(ToFp8Test, TiesGoToEven) {
  // The largest number has the scale 1. E4M3 has 1, 1.125, 1.25 and so on between 1 and 2.
  const at::Tensor x = at::tensor({448.0f, 1.0625f, 1.1875f, -1.0625f}).view({2, 2});
  const Fp8Matrix fp8 = ToFp8(x, at::kFloat8_e4m3fn, /*columns=*/false);
  EXPECT_EQ(fp8.unscale.item<float>(), 1.0f);
  const at::Tensor want = at::tensor({448.0f, 1.0f, 1.25f, -1.0f}).view({2, 2});
  EXPECT_TRUE(at::equal(fp8.rows.to(at::kFloat), want));
  EXPECT_FALSE(fp8.columns.defined());
}

TEST(ToFp8Test, ZerosAndTinyNumbersHaveFiniteFactors) {
  const Fp8Matrix zeros = ToFp8(at::zeros({16, 16}), at::kFloat8_e5m2, /*columns=*/false);
  EXPECT_TRUE(std::isfinite(zeros.unscale.item<float>()));
  EXPECT_EQ(Values(zeros).abs().max().item<double>(), 0.0);
  const at::Tensor tiny = at::randn({16, 16}).mul(1e-20);
  const Fp8Matrix fp8 = ToFp8(tiny, at::kFloat8_e5m2, /*columns=*/false);
  EXPECT_LE((Values(fp8) - tiny.to(at::kDouble)).abs().max().item<double>(), 0.5e-20);
}

TEST(ToFp8Test, WhatIsNotFiniteLeavesNoNumberThatLooksRight) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    at::Tensor x = at::randn({16, 16});
    x[3][4] = bad;
    for (const auto type : {at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
      const Fp8Matrix fp8 = ToFp8(x, type, /*columns=*/false);
      EXPECT_TRUE(Values(fp8).isnan().all().item<bool>()) << bad;
    }
  }
}

TEST(ToFp8Test, OtherTypesAndShapesAreRefused) {
  EXPECT_ANY_THROW(ToFp8(at::zeros({4, 4}), at::kBFloat16, false));
  EXPECT_ANY_THROW(ToFp8(at::zeros({4}), at::kFloat8_e5m2, false));
}

}  // namespace
}  // namespace muster::trainer
