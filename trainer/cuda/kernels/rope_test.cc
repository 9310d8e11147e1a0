#include "trainer/cuda/kernels/rope.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"

namespace muster::trainer::cuda {
namespace {

struct Case {
  int64_t rows, width, positions, repeat;
  Element element;
  size_t shift = 0;
};

std::vector<double> Turned(const Case& test, const std::vector<double>& x,
                           const std::vector<double>& angles, double direction) {
  const int64_t half = test.width / 2;
  std::vector<double> y = x;
  for (int64_t r = 0; r < test.rows; ++r) {
    for (int64_t i = 0; i < half; ++i) {
      const auto a = static_cast<size_t>(r * test.width + i), b = a + static_cast<size_t>(half);
      const double angle =
          direction * angles[static_cast<size_t>(r / test.repeat % test.positions * half + i)];
      y[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
      y[b] = x[a] * std::sin(angle) + x[b] * std::cos(angle);
    }
  }
  return y;
}

void ExpectTurned(const Case& test) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed() << ", " << test.rows << " x "
                                  << test.width << ", shift " << test.shift);
  const std::vector<double> x = dice.Normal(test.rows * test.width, 2.0, test.element);
  const std::vector<double> angles =
      dice.Normal(test.positions * test.width / 2, 3.0, Element::kFloat);
  std::vector<double> cosine, sine;
  for (const double angle : angles) cosine.push_back(std::cos(angle));
  for (const double angle : angles) sine.push_back(std::sin(angle));
  const DeviceValues cosines(Element::kFloat, cosine), sines(Element::kFloat, sine);
  for (const bool backward : {false, true}) {
    const DeviceValues in(test.element, x, test.shift);
    const DeviceValues out(test.element, static_cast<int64_t>(x.size()));
    Rope rope{.rows = test.rows,
              .width = test.width,
              .positions = test.positions,
              .repeat = test.repeat,
              .element = test.element,
              .cosine = cosines.floats(),
              .sine = sines.floats(),
              .x = in.data(),
              .y = out.data(),
              .backward = backward};
    const std::vector<double> exact = Turned(test, x, angles, backward ? -1 : 1);
    ASSERT_TRUE(LaunchRope(rope, nullptr).ok());
    ExpectNear(out, exact, test.element, 4, "y");
    rope.y = in.data();
    ASSERT_TRUE(LaunchRope(rope, nullptr).ok());
    ExpectNear(in, exact, test.element, 4, "y in place");
  }
}

TEST(RopeTest, TurnsEachPairByTheAngleOfItsPosition) {
  for (const Element element : {Element::kFloat, Element::kBfloat16}) {
    ExpectTurned({.rows = 2 * 3 * 7, .width = 64, .positions = 7, .repeat = 1, .element = element});
    ExpectTurned({.rows = 2 * 7 * 3, .width = 64, .positions = 7, .repeat = 3, .element = element});
    ExpectTurned({.rows = 5, .width = 6, .positions = 5, .repeat = 1, .element = element});
    ExpectTurned({7, 8, 7, 1, element, 1});
  }
}

TEST(RopeTest, AnOddWidthIsAnError) {
  EXPECT_FALSE(LaunchRope({.rows = 1, .width = 3}, nullptr).ok());
}

}  // namespace
}  // namespace muster::trainer::cuda
