#include "trainer/cuda/kernels/chunk_squares.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/kernels/chunk_squares.h"

namespace muster::trainer::cuda {
namespace {

template <typename T>
void ExpectTheBitsOfTheCpu(int64_t chunks, int64_t elements, T exceptional) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", chunks " << chunks);
  std::mt19937_64 dice(seed);
  std::normal_distribution<double> normal(0.0, 3.0);
  std::vector<T> values(static_cast<size_t>(chunks * elements));
  for (T& value : values) value = static_cast<T>(normal(dice));
  values[dice() % values.size()] = exceptional;
  std::vector<double> expected(static_cast<size_t>(chunks));
  ChunkSquares(std::span<const T>(values), expected);
  const DeviceArray<T> input(values);
  const DeviceArray<double> sums(chunks);
  ASSERT_TRUE(LaunchChunkSquares(input.data(), chunks, elements, sums.data(), nullptr).ok());
  const std::vector<double> actual = sums.Read();
  for (size_t c = 0; c < expected.size(); ++c) {
    if (std::isnan(expected[c])) {
      EXPECT_TRUE(std::isnan(actual[c])) << c;
    } else {
      EXPECT_EQ(std::memcmp(&actual[c], &expected[c], sizeof(double)), 0) << c;
    }
  }
  EXPECT_TRUE(sums.GuardHolds());
}

TEST(ChunkSquaresTest, GivesTheBitsOfTheCpu) {
  for (const int64_t chunks : {1, 15, 16, 37}) {
    ExpectTheBitsOfTheCpu<float>(chunks, 4096, 1e30f);
    ExpectTheBitsOfTheCpu<double>(chunks, 48, 1e200);
  }
}

TEST(ChunkSquaresTest, ShowsValuesThatAreNotFinite) {
  ExpectTheBitsOfTheCpu<float>(3, 4096, std::numeric_limits<float>::infinity());
  ExpectTheBitsOfTheCpu<float>(3, 4096, std::numeric_limits<float>::quiet_NaN());
}

TEST(ChunkSquaresTest, ChunksThatAreNoMultipleOfTheLanesAreAnError) {
  EXPECT_FALSE(
      LaunchChunkSquares(static_cast<const float*>(nullptr), 1, 17, nullptr, nullptr).ok());
}

}  // namespace
}  // namespace muster::trainer::cuda
