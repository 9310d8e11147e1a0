#include "trainer/cuda/kernels/fp8.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"

namespace muster::trainer::cuda {
namespace {

constexpr float kLeast = 1e-30f;

float LargestOf(Fp8Type type) { return type == Fp8Type::kE4m3 ? 448.0f : 57344.0f; }

// The number that eight bits mean (Micikevicius et al., 2022, table 1).
double Meaning(Fp8Type type, uint8_t bits) {
  const int fraction_bits = type == Fp8Type::kE4m3 ? 3 : 2, bias = type == Fp8Type::kE4m3 ? 7 : 15;
  const int exponent = bits >> fraction_bits & (type == Fp8Type::kE4m3 ? 15 : 31);
  const double fraction = (bits & ((1 << fraction_bits) - 1)) / std::pow(2.0, fraction_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return bits & 0x80 ? -magnitude : magnitude;
}

// Returns the bits of the nearest number, the even ones of two that are as near.
uint8_t Nearest(Fp8Type type, float value) {
  uint8_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int bits = 0; bits < 128; ++bits) {
    const auto code = static_cast<uint8_t>(bits);
    if (Meaning(type, code) > LargestOf(type)) break;
    const double distance = std::abs(Meaning(type, code) - std::abs(double{value}));
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
    least = std::min(least, distance);
  }
  return std::signbit(value) ? best | 0x80 : best;
}

struct Converted {
  Converted(Element element, Fp8Type type, int64_t rows, int64_t width,
            const std::vector<double>& values, bool columns = true)
      : matrix(element, values), by_row(rows * width), by_column(columns ? rows * width : 0) {
    const DeviceArray<uint32_t> workspace(kFp8Workspace);
    const LaunchResult result =
        LaunchFp8Conversion({.rows = rows,
                             .width = width,
                             .element = element,
                             .matrix = matrix.data(),
                             .type = type,
                             .largest_number = LargestOf(type),
                             .least_magnitude = kLeast,
                             .by_row = by_row.data(),
                             .by_column = columns ? by_column.data() : nullptr,
                             .unscale = unscale.data(),
                             .workspace = workspace.data()},
                            nullptr);
    EXPECT_TRUE(result.ok());
    EXPECT_TRUE(by_row.GuardHolds() && by_column.GuardHolds() && unscale.GuardHolds());
    EXPECT_TRUE(workspace.GuardHolds());
  }

  DeviceValues matrix;
  DeviceArray<uint8_t> by_row, by_column;
  DeviceArray<float> unscale{1};
};

void ExpectConversion(Element element, Fp8Type type, int64_t rows, int64_t width) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed() << ", " << rows << " x " << width);
  const std::vector<double> values = dice.Normal(rows * width, 3.0, element);
  float largest = 0;
  for (const double value : values)
    largest = std::max(largest, std::abs(static_cast<float>(value)));
  const float scale = LargestOf(type) / largest;
  std::vector<uint8_t> right, turned(values.size());
  for (const double value : values) {
    right.push_back(Nearest(type, static_cast<float>(value) * scale));
  }
  for (size_t i = 0; i < right.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / width, column = static_cast<int64_t>(i) % width;
    turned[static_cast<size_t>(column * rows + row)] = right[i];
  }
  for (int order = 0; order < kThreadOrders; ++order) {
    UseThreadOrder(order);
    const Converted converted(element, type, rows, width, values);
    EXPECT_EQ(converted.by_row.Read(), right);
    EXPECT_EQ(converted.by_column.Read(), turned);
    EXPECT_EQ(converted.unscale.Read()[0], 1 / scale);
  }
}

TEST(Fp8Test, NumbersAreTheNearestOnesOfTheScaledMatrixByRowAndByColumn) {
  for (const Element element : {Element::kFloat, Element::kBfloat16}) {
    for (const Fp8Type type : {Fp8Type::kE4m3, Fp8Type::kE5m2}) {
      ExpectConversion(element, type, 64, 64);
      ExpectConversion(element, type, 16, 208);
      ExpectConversion(element, type, 132, 4);
      ExpectConversion(element, type, 4, 4);
    }
  }
}

TEST(Fp8Test, ColumnsMayBeLeftOut) {
  const Converted converted(Element::kFloat, Fp8Type::kE4m3, 4, 4, std::vector<double>(16, -2.0),
                            /*columns=*/false);
  EXPECT_EQ(converted.by_row.Read(), std::vector<uint8_t>(16, 0xfe));  // -448
}

TEST(Fp8Test, ZerosStayZeros) {
  const Converted converted(Element::kFloat, Fp8Type::kE4m3, 4, 4, std::vector<double>(16));
  EXPECT_EQ(converted.by_row.Read(), std::vector<uint8_t>(16));
  EXPECT_EQ(converted.unscale.Read()[0], 1 / (448.0f / kLeast));
}

// The products with such a matrix are NaN, so that the step is skipped.
TEST(Fp8Test, ANumberThatIsNotFiniteShowsInTheFactorOrTheNumbers) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    std::vector<double> values(16, 1.0);
    values[5] = bad;
    const Converted converted(Element::kFloat, Fp8Type::kE5m2, 4, 4, values);
    EXPECT_FALSE(std::isfinite(converted.unscale.Read()[0]));
    EXPECT_EQ(converted.by_row.Read()[5] & 0x7f, 0x7f);
  }
}

}  // namespace
}  // namespace muster::trainer::cuda
