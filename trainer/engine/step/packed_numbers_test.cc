#include "trainer/engine/step/packed_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ATen/core/Tensor.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "planner/activations.h"

namespace muster::trainer {
namespace {

using planner::SavedFormat;

// Numbers of magnitudes from 2^-20 to 2^20, of both signs.
at::Tensor Numbers(int64_t count, c10::ScalarType type) {
  const at::Tensor i = at::arange(count, at::kDouble);
  return (i * 0.7).sin().mul((i * 0.013).sin().mul(20.0).exp2()).to(type);
}

TEST(PackedNumbersTest, ErrorsOfInt8AreAtMostHalfAStepOfTheBlocksLargestNumber) {
  for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    for (const int64_t count : {256, 1000, 4096}) {
      const at::Tensor x = Numbers(count, type);
      const PackedNumbers packed = Pack(x, SavedFormat::kInt8);
      EXPECT_EQ(packed.values.scalar_type(), at::kChar);
      EXPECT_EQ(
          static_cast<int64_t>(packed.values.nbytes() + packed.scales.nbytes()),
          planner::PackedBytes(SavedFormat::kInt8, count, static_cast<int64_t>(x.itemsize())));
      const at::Tensor back = Unpack(packed);
      ASSERT_EQ(back.scalar_type(), type);
      ASSERT_EQ(back.numel(), count);
      const double rounding = type == at::kBFloat16 ? 0x1p-8 : type == at::kFloat ? 1e-6 : 1e-14;
      for (int64_t begin = 0; begin < count; begin += planner::kInt8Block) {
        const int64_t size = std::min(planner::kInt8Block, count - begin);
        const at::Tensor block = x.narrow(0, begin, size).to(at::kDouble);
        const double largest = block.abs().max().item<double>();
        const double error = block.sub(back.narrow(0, begin, size)).abs().max().item<double>();
        EXPECT_TRUE(error <= largest * (1.0 / 254 + rounding)) << error << " of " << largest;
        EXPECT_TRUE(error > 0.0);
      }
    }
  }
}

TEST(PackedNumbersTest, ErrorsOfBf16AreAtMostHalfAUnitInTheLastPlace) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    const at::Tensor x = Numbers(1000, type);
    const PackedNumbers packed = Pack(x, SavedFormat::kBf16);
    EXPECT_EQ(packed.values.nbytes(), 2000U);
    const at::Tensor back = Unpack(packed);
    ASSERT_EQ(back.scalar_type(), type);
    EXPECT_TRUE(x.sub(back).abs().le(x.abs() * 0x1p-8).all().item<bool>());
    EXPECT_FALSE(x.equal(back));
  }
}

TEST(PackedNumbersTest, ZerosStayAndNumbersThatAreNotFiniteDoNotBecomeFinite) {
  at::Tensor x = at::zeros({3 * planner::kInt8Block}, at::kFloat);
  x[5] = std::numeric_limits<float>::denorm_min();
  x[planner::kInt8Block] = std::nan("");
  x[planner::kInt8Block + 1] = 1.0;
  x[2 * planner::kInt8Block] = -std::numeric_limits<float>::infinity();
  const at::Tensor back = Unpack(Pack(x, SavedFormat::kInt8));
  EXPECT_TRUE(back.narrow(0, 0, planner::kInt8Block).eq(0.0).all().item<bool>());
  EXPECT_FALSE(back.narrow(0, planner::kInt8Block, 1).isfinite().any().item<bool>());
  EXPECT_FALSE(back.narrow(0, 2 * planner::kInt8Block, 1).isfinite().any().item<bool>());
  const at::Tensor rounded = Unpack(Pack(x, SavedFormat::kBf16));
  EXPECT_TRUE(rounded.isfinite().logical_not().equal(x.isfinite().logical_not()));
}

TEST(PackedNumbersTest, OnlyWiderTypesArePacked) {
  EXPECT_TRUE(CanPack(at::kFloat, SavedFormat::kBf16));
  EXPECT_TRUE(CanPack(at::kDouble, SavedFormat::kInt8));
  EXPECT_TRUE(CanPack(at::kBFloat16, SavedFormat::kInt8));
  EXPECT_FALSE(CanPack(at::kBFloat16, SavedFormat::kBf16));
  EXPECT_FALSE(CanPack(at::kLong, SavedFormat::kInt8));
  EXPECT_FALSE(CanPack(at::kFloat8_e4m3fn, SavedFormat::kInt8));
  EXPECT_FALSE(CanPack(at::kFloat, SavedFormat::kWhole));
}

}  // namespace
}  // namespace muster::trainer
