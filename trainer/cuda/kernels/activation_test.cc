#include "trainer/cuda/kernels/activation.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"

namespace muster::trainer::cuda {
namespace {

double Silu(double x) { return x / (1.0 + std::exp(-x)); }
double Gelu(double x) {
  const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}
// The derivative by differences in FP64, which knows nothing of the formula in the kernel.
double Slope(double (*function)(double), double x) {
  const double step = 1e-4;
  return (8 * (function(x + step) - function(x - step)) -
          (function(x + 2 * step) - function(x - 2 * step))) /
         (12 * step);
}

struct Drawn {
  explicit Drawn(Element element, int64_t count, Dice& dice)
      : a(dice.Normal(count, 3.0, element)),
        b(dice.Normal(count, 2.0, element)),
        d(dice.Normal(count, 1.0, element)) {
    a[0] = 80.0;  // the exponentials overflow
    a[a.size() / 2] = -120.0;
  }
  std::vector<double> a, b, d;
};

std::vector<double> Map(size_t count, const std::function<double(size_t)>& function) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = function(i);
  return values;
}

class ActivationTest : public testing::TestWithParam<std::tuple<Element, int64_t, size_t>> {
 protected:
  const Element element_ = std::get<0>(GetParam());
  const int64_t count_ = std::get<1>(GetParam());
  const size_t shift_ = std::get<2>(GetParam());
  Dice dice_;
  const testing::ScopedTrace trace_{__FILE__, __LINE__,
                                    testing::Message() << "seed " << dice_.seed()};
  const Drawn in_{element_, count_, dice_};
  const size_t size_ = in_.a.size();
  const DeviceValues a_{element_, in_.a, shift_}, b_{element_, in_.b}, d_{element_, in_.d};
  const DeviceValues first_{element_, count_, shift_}, second_{element_, count_};
};

TEST_P(ActivationTest, SwiGluIsNearItsTwin) {
  ASSERT_TRUE(LaunchSwiGlu(element_, count_, a_.data(), b_.data(), first_.data(), nullptr).ok());
  ExpectNear(first_, Map(size_, [&](size_t i) { return Silu(in_.a[i]) * in_.b[i]; }), element_, 2,
             "y");
}

TEST_P(ActivationTest, TheGradientsOfSwiGluAreNearTheirTwins) {
  ASSERT_TRUE(LaunchSwiGluBackward(element_, count_, a_.data(), b_.data(), d_.data(), first_.data(),
                                   second_.data(), nullptr)
                  .ok());
  ExpectNear(first_,
             Map(size_, [&](size_t i) { return in_.d[i] * in_.b[i] * Slope(Silu, in_.a[i]); }),
             element_, 4, "d_gate");
  ExpectNear(second_, Map(size_, [&](size_t i) { return in_.d[i] * Silu(in_.a[i]); }), element_, 4,
             "d_up");
}

TEST_P(ActivationTest, GeluIsNearItsTwin) {
  ASSERT_TRUE(LaunchGelu(element_, count_, a_.data(), first_.data(), nullptr).ok());
  ExpectNear(first_, Map(size_, [&](size_t i) { return Gelu(in_.a[i]); }), element_, 2, "y");
}

TEST_P(ActivationTest, TheGradientOfGeluIsNearItsTwin) {
  ASSERT_TRUE(
      LaunchGeluBackward(element_, count_, a_.data(), d_.data(), first_.data(), nullptr).ok());
  ExpectNear(first_, Map(size_, [&](size_t i) { return in_.d[i] * Slope(Gelu, in_.a[i]); }),
             element_, 4, "d_x");
}

INSTANTIATE_TEST_SUITE_P(Sizes, ActivationTest,
                         testing::Combine(testing::Values(Element::kFloat, Element::kBfloat16),
                                          testing::Values(1, 1023, 4100), testing::Values(0, 1)));

}  // namespace
}  // namespace muster::trainer::cuda
