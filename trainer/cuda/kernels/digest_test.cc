#include "trainer/cuda/kernels/digest.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"
#include "trainer/random/philox.h"

namespace muster::trainer::cuda {
namespace {

uint64_t DigestOf(const std::vector<uint32_t>& words, size_t shift = 0) {
  const DeviceArray<uint32_t> input(words, shift);
  const auto count = static_cast<int64_t>(words.size());
  const DeviceArray<int64_t> sums(DigestSums(count));
  EXPECT_TRUE(LaunchDigest(input.data(), count, sums.data(), nullptr).ok());
  EXPECT_TRUE(sums.GuardHolds());
  const std::vector<int64_t> parts = sums.Read();
  return std::accumulate(parts.begin(), parts.end(), uint64_t{0});
}

std::vector<uint32_t> Draw(Dice& dice, int64_t count) {
  std::vector<uint32_t> words(static_cast<size_t>(count));
  for (uint32_t& word : words) word = static_cast<uint32_t>(dice.Below(int64_t{1} << 32));
  return words;
}

TEST(DigestTest, IsTheSumThatTheHeaderSays) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed());
  for (const int64_t count : {0, 1, 2, 511, 512, 513, 70001}) {
    const std::vector<uint32_t> words = Draw(dice, count);
    uint64_t expected = 0;
    for (size_t i = 0; i < words.size(); i += 2) {
      const uint64_t high = i + 1 < words.size() ? words[i + 1] : 0;
      expected += MixKey((high << 32 | words[i]) ^ i / 2 * 0x9E3779B97F4A7C15);
    }
    for (int order = 0; order < kThreadOrders; ++order) {
      UseThreadOrder(order);
      EXPECT_EQ(DigestOf(words), expected) << count;
    }
    EXPECT_EQ(DigestOf(words, 4), expected) << count << ", not aligned for pairs";
  }
}

TEST(DigestTest, ABitAndTwoWordsThatChangePlacesShow) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed());
  const std::vector<uint32_t> words = Draw(dice, 1000);
  const uint64_t digest = DigestOf(words);
  for (int i = 0; i < 20; ++i) {
    std::vector<uint32_t> changed = words;
    changed[static_cast<size_t>(dice.Below(1000))] ^= uint32_t{1} << dice.Below(32);
    EXPECT_NE(DigestOf(changed), digest);
    const auto a = static_cast<size_t>(dice.Below(1000));
    changed = words;
    std::swap(changed[a], changed[(a + 1) % 1000]);
    EXPECT_NE(DigestOf(changed), digest);
  }
}

}  // namespace
}  // namespace muster::trainer::cuda
