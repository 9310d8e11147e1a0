#include "trainer/checkpoint/data_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace muster::trainer {
namespace {

template <typename To, typename From>
std::vector<To> Converted(DataType from, const std::vector<From>& values) {
  std::vector<To> out(values.size(), To{-7});
  ConvertNumbers(from, std::as_bytes(std::span(values)),
                 sizeof(To) == 8 ? DataType::kF64 : DataType::kF32,
                 std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(ConvertNumbersTest, HalvesKeepTheirValue) {
  const std::vector<uint16_t> bits = {0x3c00, 0xc000, 0x3555, 0x7bff, 0x0400, 0x03ff, 0x0001,
                                      0x8001, 0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00};
  const std::vector<float> f = Converted<float>(DataType::kF16, bits);
  const std::vector<float> want = {1.0f,
                                   -2.0f,
                                   0.333251953125f,
                                   65504.0f,
                                   std::ldexp(1.0f, -14),
                                   std::ldexp(1023.0f, -24),
                                   std::ldexp(1.0f, -24),
                                   -std::ldexp(1.0f, -24),
                                   0.0f};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(f[i], want[i]) << i;
  EXPECT_TRUE(f[9] == 0.0f && std::signbit(f[9]));
  EXPECT_EQ(f[10], std::numeric_limits<float>::infinity());
  EXPECT_EQ(f[11], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(f[12]));
  EXPECT_EQ(Converted<double>(DataType::kF16, bits)[2], 0.333251953125);
}

TEST(ConvertNumbersTest, BrainFloatsKeepTheirValue) {
  const std::vector<uint16_t> bits = {0x3f80, 0xbf80, 0x4049, 0x0001, 0x7f7f, 0xff80};
  const std::vector<double> want = {1.0,
                                    -1.0,
                                    3.140625,
                                    std::ldexp(1.0, -133),
                                    std::ldexp(255.0, 120),
                                    -std::numeric_limits<double>::infinity()};
  EXPECT_EQ(Converted<double>(DataType::kBF16, bits), want);
  EXPECT_EQ(Converted<float>(DataType::kBF16, bits)[2], 3.140625f);
}

TEST(ConvertNumbersTest, DoublesAreRoundedToTheNearestFloat) {
  const std::vector<double> values = {0.1, -1.0 / 3, 1e-300, 1.0 + std::ldexp(1.0, -25)};
  const std::vector<float> want = {0.1f, -1.0f / 3, 0.0f, 1.0f};
  EXPECT_EQ(Converted<float>(DataType::kF64, values), want);
  EXPECT_EQ(Converted<double>(DataType::kF64, values), values);
  EXPECT_EQ(Converted<double>(DataType::kF32, want)[0], 0.1f);
}

TEST(ConvertNumbersTest, OnlyRealNumbersAreFloatingPoint) {
  for (const DataType type : {DataType::kF64, DataType::kF32, DataType::kF16, DataType::kBF16}) {
    EXPECT_TRUE(IsFloatingPoint(type));
  }
  for (const DataType type : {DataType::kI64, DataType::kU8, DataType::kBool}) {
    EXPECT_FALSE(IsFloatingPoint(type));
  }
}

}  // namespace
}  // namespace muster::trainer
