#include "trainer/cuda/kernels/norm.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"

namespace muster::trainer::cuda {
namespace {

struct Case {
  int64_t rows, width;
  bool centered, branch;
  Element stream, result;
  size_t shift;  // elements, so that addresses are not aligned for packs
};

constexpr float kEpsilon = 1e-5f;

struct Inputs {
  std::vector<double> x, branch, gain, bias, d_y, d_sum;
};

Inputs Draw(const Case& test, Dice& dice) {
  const int64_t count = test.rows * test.width;
  return {.x = dice.Normal(count, 2.0, test.stream),
          .branch = dice.Normal(count, 1.0, test.result),
          .gain = dice.Normal(test.width, 1.0, Element::kFloat),
          .bias = dice.Normal(test.width, 1.0, Element::kFloat),
          .d_y = dice.Normal(count, 1.0, test.result),
          .d_sum = dice.Normal(count, 1.0, test.stream)};
}

// The twin in FP64, written as the papers do.
struct Exact {
  std::vector<double> sum, y, mean, scale, d_x, d_gain, d_bias;
};

Exact Compute(const Case& test, const Inputs& in) {
  const auto width = static_cast<size_t>(test.width), rows = static_cast<size_t>(test.rows);
  Exact out{.sum = in.x,
            .y = in.x,
            .mean = std::vector<double>(rows),
            .scale = std::vector<double>(rows),
            .d_x = in.x,
            .d_gain = std::vector<double>(width),
            .d_bias = std::vector<double>(width)};
  for (size_t r = 0; r < rows; ++r) {
    const size_t begin = r * width;
    double mean = 0, square = 0, g_mean = 0, gh_mean = 0;
    for (size_t i = begin; i < begin + width; ++i) {
      if (test.branch) out.sum[i] = Rounded(test.stream, in.x[i] + in.branch[i]);
      mean += out.sum[i] / static_cast<double>(width);
    }
    if (!test.centered) mean = 0;
    for (size_t i = begin; i < begin + width; ++i) {
      square += std::pow(out.sum[i] - mean, 2) / static_cast<double>(width);
    }
    const double scale = 1.0 / std::sqrt(square + kEpsilon);
    out.mean[r] = mean;
    out.scale[r] = scale;
    for (size_t c = 0; c < width; ++c) {
      const double h = (out.sum[begin + c] - mean) * scale, d = in.d_y[begin + c];
      out.y[begin + c] = h * in.gain[c] + (test.centered ? in.bias[c] : 0.0);
      out.d_gain[c] += d * h;
      out.d_bias[c] += d;
      g_mean += d * in.gain[c] / static_cast<double>(width);
      gh_mean += d * in.gain[c] * h / static_cast<double>(width);
    }
    if (!test.centered) g_mean = 0;
    for (size_t c = 0; c < width; ++c) {
      const double h = (out.sum[begin + c] - mean) * scale;
      out.d_x[begin + c] = scale * (in.d_y[begin + c] * in.gain[c] - g_mean - h * gh_mean) +
                           (test.branch ? in.d_sum[begin + c] : 0.0);
    }
  }
  return out;
}

void ExpectForward(const Case& test, const Inputs& in, const Exact& exact) {
  const int64_t count = test.rows * test.width;
  const DeviceValues x(test.stream, in.x, test.shift), branch(test.result, in.branch);
  const DeviceValues gain(Element::kFloat, in.gain), bias(Element::kFloat, in.bias);
  const DeviceValues sum(test.stream, count), y(test.result, count, test.shift);
  const DeviceValues mean(Element::kFloat, test.rows), scale(Element::kFloat, test.rows);
  ASSERT_TRUE(LaunchNormForward({.rows = test.rows,
                                 .width = test.width,
                                 .epsilon = kEpsilon,
                                 .centered = test.centered,
                                 .stream = test.stream,
                                 .result = test.result,
                                 .x = x.data(),
                                 .branch = test.branch ? branch.data() : nullptr,
                                 .gain = gain.floats(),
                                 .bias = test.centered ? bias.floats() : nullptr,
                                 .sum = test.branch ? sum.data() : nullptr,
                                 .y = y.data(),
                                 .mean = test.centered ? mean.floats() : nullptr,
                                 .scale = scale.floats()},
                                nullptr)
                  .ok());
  if (test.branch) ExpectNear(sum, exact.sum, Element::kFloat, 0, "sum");
  ExpectNear(y, exact.y, test.result, 4, "y");
  if (test.centered) ExpectNear(mean, exact.mean, Element::kFloat, 1, "mean");
  ExpectNear(scale, exact.scale, Element::kFloat, 1, "scale");
}

void ExpectBackward(const Case& test, const Inputs& in, const Exact& exact) {
  const int64_t count = test.rows * test.width;
  const DeviceValues x(test.stream, exact.sum), d_y(test.result, in.d_y);
  const DeviceValues d_sum(test.stream, in.d_sum), gain(Element::kFloat, in.gain);
  const DeviceValues mean(Element::kFloat, exact.mean), scale(Element::kFloat, exact.scale);
  const DeviceValues d_x(test.stream, count, test.shift), d_gain(Element::kFloat, test.width);
  const DeviceValues d_bias(Element::kFloat, test.width), d_branch(test.result, count);
  const DeviceValues workspace(Element::kFloat, NormBackwardWorkspace(test.width));
  ASSERT_TRUE(LaunchNormBackward({.rows = test.rows,
                                  .width = test.width,
                                  .centered = test.centered,
                                  .stream = test.stream,
                                  .result = test.result,
                                  .x = x.data(),
                                  .d_y = d_y.data(),
                                  .d_sum = test.branch ? d_sum.data() : nullptr,
                                  .gain = gain.floats(),
                                  .mean = test.centered ? mean.floats() : nullptr,
                                  .scale = scale.floats(),
                                  .d_x = d_x.data(),
                                  .d_branch = test.branch ? d_branch.data() : nullptr,
                                  .d_gain = d_gain.floats(),
                                  .d_bias = test.centered ? d_bias.floats() : nullptr,
                                  .workspace = workspace.floats()},
                                 nullptr)
                  .ok());
  ExpectNear(d_x, exact.d_x, test.stream, 4, "d_x");
  if (test.branch) ExpectNear(d_branch, exact.d_x, test.result, 4, "d_branch");
  ExpectNear(d_gain, exact.d_gain, Element::kFloat, static_cast<double>(test.rows), "d_gain");
  if (test.centered) {
    ExpectNear(d_bias, exact.d_bias, Element::kFloat, static_cast<double>(test.rows), "d_bias");
  }
  EXPECT_TRUE(workspace.GuardHolds());
}

void ExpectExact(const Case& test) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed() << ", " << test.rows << " x "
                                  << test.width << ", centered " << test.centered << ", branch "
                                  << test.branch << ", shift " << test.shift << ", types "
                                  << static_cast<int>(test.stream)
                                  << static_cast<int>(test.result));
  const Inputs in = Draw(test, dice);
  const Exact exact = Compute(test, in);
  for (int order = 0; order < kThreadOrders; ++order) {
    UseThreadOrder(order);
    ExpectForward(test, in, exact);
    ExpectBackward(test, in, exact);
  }
}

TEST(NormTest, IsNearItsTwinInFp64) {
  constexpr Element kFloat = Element::kFloat, kHalf = Element::kBfloat16;
  for (const bool centered : {false, true}) {
    for (const bool branch : {false, true}) {
      ExpectExact({3, 64, centered, branch, kFloat, kFloat, 0});
      ExpectExact({70, 33, centered, branch, kFloat, kHalf, 0});
      ExpectExact({2000, 36, centered, branch, kFloat, kHalf, 0});
      ExpectExact({9, 1024, centered, branch, kHalf, kFloat, 0});
      ExpectExact({9, 768, centered, branch, kFloat, kHalf, 0});
      ExpectExact({9, 1000, centered, branch, kHalf, kHalf, 0});
      ExpectExact({5, 1028, centered, branch, kHalf, kHalf, 0});
      ExpectExact({399, 1100, centered, branch, kFloat, kHalf, 0});
      ExpectExact({3, 2052, centered, branch, kFloat, kHalf, 0});
      ExpectExact({2, 4100, centered, branch, kFloat, kHalf, 0});
      ExpectExact({2, 8196, centered, branch, kFloat, kHalf, 0});
      ExpectExact({1, 771, centered, branch, kHalf, kFloat, 1});
      ExpectExact({2, 1, centered, branch, kFloat, kFloat, 3});
    }
  }
}

TEST(NormTest, NoRowsAreNoWork) {
  EXPECT_TRUE(LaunchNormForward({.rows = 0, .width = 8}, nullptr).ok());
}

}  // namespace
}  // namespace muster::trainer::cuda
