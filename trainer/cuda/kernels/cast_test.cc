#include "trainer/cuda/kernels/cast.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"

namespace muster::trainer::cuda {
namespace {

constexpr Element kTypes[] = {Element::kFloat, Element::kBfloat16};

TEST(CastTest, RoundsToNearestAndTiesToEven) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed());
  for (const Element from : kTypes) {
    for (const Element to : kTypes) {
      for (const int64_t count : {1, 257, 5001}) {
        for (const size_t shift : {0, 1}) {
          std::vector<double> values = dice.Normal(count, 100.0, from);
          values[0] = 1.0 + 1.0 / 256;  // between two values of BF16
          std::vector<double> exact;
          for (const double value : values) {
            exact.push_back(Rounded(to, 0.5 * Rounded(from, value)));
          }
          const DeviceValues in(from, values, shift), out(to, count);
          ASSERT_TRUE(LaunchCast(from, in.data(), count, 0.5f, to, out.data(), nullptr).ok());
          EXPECT_EQ(out.Read(), exact);
          EXPECT_TRUE(out.GuardHolds());
        }
      }
    }
  }
}

TEST(CastTest, KeepsWhatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const DeviceValues in(Element::kFloat, {infinity, -infinity, NAN, 3.4e38});
  const DeviceValues out(Element::kBfloat16, 4);
  ASSERT_TRUE(
      LaunchCast(Element::kFloat, in.data(), 4, 1.0f, Element::kBfloat16, out.data(), nullptr)
          .ok());
  const std::vector<double> values = out.Read();
  EXPECT_EQ(values[0], infinity);
  EXPECT_EQ(values[1], -infinity);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], infinity);  // the largest BF16 is smaller
}

}  // namespace
}  // namespace muster::trainer::cuda
