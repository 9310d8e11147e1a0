#include "trainer/kernels/chunk_squares.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

constexpr int64_t kChunkElements = 4096;

TEST(ChunkSquaresTest, SumsEachChunkByItself) {
  std::vector<float> values(3 * kChunkElements);
  std::vector<double> want(3);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    want[i / kChunkElements] += static_cast<double>(values[i]) * values[i];
  }
  std::vector<double> got(3);
  ChunkSquares(std::span<const float>(values), got);
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(got[c], want[c], 1e-9);
}

TEST(ChunkSquaresTest, LetsInfinitiesAndNansThroughWithoutTouchingOtherChunks) {
  std::vector<double> values(3 * kChunkElements, 1.0);
  values[7] = std::numeric_limits<double>::infinity();
  values[2 * kChunkElements + 9] = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> got(3);
  ChunkSquares(std::span<const double>(values), got);
  EXPECT_TRUE(std::isinf(got[0]));
  EXPECT_EQ(got[1], kChunkElements);
  EXPECT_TRUE(std::isnan(got[2]));
}

}  // namespace
}  // namespace muster::trainer
