#include "trainer/engine/state/run_counts.h"

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

RunCounts Full() {
  RunCounts counts{.updates = 5,
                   .samples = 70,
                   .skipped = {.in_row = 1, .total = 2},
                   .loss_scale = {.scale = 512, .good_steps = 9}};
  for (int i = 0; i < 20; ++i) counts.watched.Add(4.0 / (i + 1), 0.1 * i);
  counts.watched.in_row = 3;
  counts.watched.total = 8;
  counts.watched.rate_factor = 0.25;
  counts.tunings = {{.step = 4, .learning_rate = 1e-4}, {.step = 9, .clip_norm = 0.0}};
  return counts;
}

TEST(RunCountsTest, NumbersAreTheWholeOfTheCounts) {
  for (const RunCounts& counts : {RunCounts{}, Full()}) {
    const std::vector<int64_t> numbers = ToNumbers(counts);
    EXPECT_EQ(numbers[0], static_cast<int64_t>(numbers.size()));
    const auto read = CountsOf(numbers);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, counts);
  }
}

TEST(RunCountsTest, TornNumbersAreRefused) {
  const std::vector<int64_t> whole = ToNumbers(Full());
  for (size_t length = 0; length < whole.size(); ++length) {
    std::vector<int64_t> torn(whole.begin(), whole.begin() + static_cast<int64_t>(length));
    EXPECT_EQ(CountsOf(torn).status().code(), absl::StatusCode::kDataLoss) << length;
    if (torn.empty()) continue;
    torn[0] = static_cast<int64_t>(length);
    EXPECT_FALSE(CountsOf(torn).ok()) << length;
  }
  std::vector<int64_t> long_list = ToNumbers({});
  long_list[10] = INT64_MAX;
  EXPECT_FALSE(CountsOf(long_list).ok());
}

}  // namespace
}  // namespace muster::trainer
