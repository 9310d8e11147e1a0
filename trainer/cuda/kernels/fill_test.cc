#include "trainer/cuda/kernels/fill.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"
#include "trainer/random/element_run.h"
#include "trainer/random/fill.h"

namespace muster::trainer::cuda {
namespace {

int64_t CountOf(std::span<const ElementRun> runs) {
  int64_t count = 0;
  for (const ElementRun& run : runs) count += run.count;
  return count;
}

// The elements of the runs, from each row of a whole.
template <typename T>
std::vector<T> Cut(const std::vector<T>& whole, size_t rows, std::span<const ElementRun> runs) {
  std::vector<T> cut;
  for (size_t r = 0; r < rows; ++r) {
    const auto row = whole.begin() + static_cast<int64_t>(r * (whole.size() / rows));
    for (const ElementRun& run : runs) {
      cut.insert(cut.end(), row + run.begin, row + run.begin + run.count);
    }
  }
  return cut;
}

template <typename T>
void ExpectTheDropoutOfTheCpu(int64_t width, size_t row_count, double probability,
                              std::span<const ElementRun> runs) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed() << ", width " << width
                                  << ", probability " << probability);
  const DropoutKey key{.seed = static_cast<uint64_t>(dice.Below(int64_t{1} << 62)),
                       .step = dice.Below(int64_t{1} << 40),
                       .layer = static_cast<int32_t>(dice.Below(200)),
                       .site = static_cast<int32_t>(dice.Below(5))};
  std::vector<int64_t> samples;
  for (size_t r = 0; r < row_count; ++r) samples.push_back(dice.Below(int64_t{1} << 45));
  std::vector<T> whole(row_count * static_cast<size_t>(width));
  const std::vector<ElementRun> row = {{.begin = 0, .count = width}};
  trainer::FillDropout(key, probability, samples, row, whole);
  const DeviceArray<T> mask(static_cast<int64_t>(row_count) * CountOf(runs));
  ASSERT_TRUE(LaunchFillDropout({.seed = key.seed,
                                 .step = key.step,
                                 .layer = key.layer,
                                 .site = key.site,
                                 .probability = probability,
                                 .samples = samples,
                                 .runs = runs},
                                mask.data(), nullptr)
                  .ok());
  EXPECT_EQ(mask.Read(), Cut(whole, row_count, runs));
  EXPECT_TRUE(mask.GuardHolds());
}

TEST(FillTest, DropoutHasTheBitsOfTheCpu) {
  for (const int64_t width : {1, 63, 64, 1000, 4097}) {
    const std::vector<ElementRun> whole = {{.begin = 0, .count = width}};
    for (const double probability : {0.0, 0.1, 0.5, 1.0}) {
      ExpectTheDropoutOfTheCpu<float>(width, 3, probability, whole);
      ExpectTheDropoutOfTheCpu<double>(width, 3, probability, whole);
    }
  }
}

TEST(FillTest, RunsHaveTheBitsOfTheWholeInDropout) {
  const std::vector<ElementRun> runs = {
      {.begin = 5, .count = 1}, {.begin = 60, .count = 300}, {}, {.begin = 640, .count = 64}};
  ExpectTheDropoutOfTheCpu<float>(1000, 3, 0.3, runs);
  ExpectTheDropoutOfTheCpu<float>(1000, 131, 0.3, runs);  // more samples than a launch takes
}

std::vector<ElementRun> ManyRuns() {  // more than a launch takes
  std::vector<ElementRun> runs;
  for (int64_t r = 0; r < 75; ++r) runs.push_back({.begin = 211 * r + r % 2, .count = r % 9});
  return runs;
}

TEST(FillTest, MoreRunsThanALaunchTakesAreAllFilled) {
  ExpectTheDropoutOfTheCpu<float>(211 * 76, 2, 0.3, ManyRuns());
}

// A card's log, cos and sin may differ from the CPU's in the last bits of a double.
template <typename T>
void ExpectTheNormalNumbersOfTheCpu(int64_t count, std::span<const ElementRun> runs) {
  Dice dice;
  const auto seed = static_cast<uint64_t>(dice.Below(int64_t{1} << 62));
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", count " << count);
  const std::string name = "blocks.3.attention.weight";
  std::vector<T> whole(static_cast<size_t>(count));
  const std::vector<ElementRun> all = {{.begin = 0, .count = count}};
  trainer::FillNormal({.seed = seed, .name = name, .deviation = 0.02}, all, whole);
  const std::vector<T> expected = Cut(whole, 1, runs);
  const DeviceArray<T> out(CountOf(runs));
  ASSERT_TRUE(LaunchFillNormal(FillKey(seed, name), 0.02, runs, out.data(), nullptr).ok());
  const std::vector<T> actual = out.Read();
  ASSERT_EQ(actual.size(), expected.size());
  const double tolerance = sizeof(T) == sizeof(float) ? 1e-7 : 1e-12;
  int64_t different = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(std::abs(actual[i] - expected[i]) <= tolerance * std::abs(expected[i]) + 1e-16)
        << i;
    different += actual[i] != expected[i];
  }
  if (sizeof(T) == sizeof(float)) EXPECT_LE(different, 1);
  EXPECT_TRUE(out.GuardHolds());
}

TEST(FillTest, NormalNumbersAreThoseOfTheCpu) {
  for (const int64_t count : {1, 2, 1023, 20000}) {
    const std::vector<ElementRun> whole = {{.begin = 0, .count = count}};
    ExpectTheNormalNumbersOfTheCpu<float>(count, whole);
    ExpectTheNormalNumbersOfTheCpu<double>(count, whole);
  }
}

TEST(FillTest, RunsHaveTheNormalNumbersOfTheWhole) {
  ExpectTheNormalNumbersOfTheCpu<float>(211 * 76, ManyRuns());
  ExpectTheNormalNumbersOfTheCpu<double>(100, std::vector<ElementRun>{{.begin = 3, .count = 1}});
}

}  // namespace
}  // namespace muster::trainer::cuda
