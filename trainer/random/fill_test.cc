#include "trainer/random/fill.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/random/element_run.h"
#include "trainer/random/philox.h"

namespace muster::trainer {
namespace {

std::vector<ElementRun> Row(size_t count) { return {{0, static_cast<int64_t>(count)}}; }

template <typename T>
std::vector<ElementRun> WholeOf(const std::vector<T>& tensor) {
  return Row(tensor.size());
}

// Runs of many lengths, in the order of the whole, with gaps.
std::vector<ElementRun> SomeRuns() {
  return {{0, 1}, {3, 64}, {67, 61}, {129, 2}, {700, 333}, {1040, 17}};
}

// Returns the elements of `runs` in `whole`.
template <typename T>
std::vector<T> Cut(const T* whole, const std::vector<ElementRun>& runs) {
  std::vector<T> out;
  for (const ElementRun& run : runs) {
    out.insert(out.end(), whole + run.begin, whole + run.begin + run.count);
  }
  return out;
}

// Known answers of Random123's kat_vectors for philox4x32-10.
TEST(PhiloxTest, GivesThePublishedAnswers) {
  EXPECT_EQ(Philox(0, {0, 0, 0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(FillNormalTest, HasTheMomentsAskedForAndDependsOnNameAndSeedOnly) {
  const NormalKey w{.seed = 7, .name = "w", .deviation = 0.02};
  std::vector<double> a(100001), b(100001);
  FillNormal(w, WholeOf(a), std::span<double>(a));
  FillNormal(w, WholeOf(b), std::span<double>(b));
  EXPECT_EQ(a, b);
  double mean = 0, square = 0, fourth = 0;
  for (const double x : a) {
    mean += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  const double n = static_cast<double>(a.size());
  EXPECT_NEAR(mean / n, 0, 3e-4);
  EXPECT_NEAR(std::sqrt(square / n), 0.02, 2e-4);
  EXPECT_NEAR(fourth / n / std::pow(square / n, 2), 3.0, 0.1);
  FillNormal({.seed = 7, .name = "v", .deviation = 0.02}, WholeOf(b), std::span<double>(b));
  EXPECT_NE(a, b);
  std::vector<float> f(1000);
  FillNormal(w, WholeOf(f), std::span<float>(f));
  for (size_t i = 0; i < f.size(); ++i) EXPECT_EQ(f[i], static_cast<float>(a[i]));
}

TEST(FillNormalTest, APartHasTheBitsOfTheWhole) {
  const NormalKey key{.seed = 9, .name = "w", .deviation = 1.0};
  std::vector<float> whole(1200);
  FillNormal(key, WholeOf(whole), std::span<float>(whole));
  const std::vector<float> want = Cut(whole.data(), SomeRuns());
  std::vector<float> part(want.size());
  FillNormal(key, SomeRuns(), std::span<float>(part));
  EXPECT_EQ(part, want);
}

TEST(FillDropoutTest, APartOfARowHasTheBitsOfTheWholeRow) {
  const DropoutKey key{.seed = 3, .step = 9, .layer = 2, .site = 1};
  const std::vector<int64_t> samples = {4, 77};
  std::vector<double> whole(samples.size() * 1200);
  FillDropout(key, 0.5, samples, Row(1200), std::span<double>(whole));
  std::vector<double> want = Cut(whole.data(), SomeRuns());
  const std::vector<double> second = Cut(whole.data() + 1200, SomeRuns());
  want.insert(want.end(), second.begin(), second.end());
  std::vector<double> part(want.size());
  FillDropout(key, 0.5, samples, SomeRuns(), std::span<double>(part));
  EXPECT_EQ(part, want);
}

TEST(FillDropoutTest, KeepsTheExpectationAndEachSampleHasItsOwnMaskWhateverItsNeighbours) {
  const DropoutKey key{.seed = 3, .step = 9, .layer = 2, .site = 1};
  const std::vector<int64_t> all = {10, 11, 12, int64_t{1} << 40};
  const size_t row = 10007;
  std::vector<float> whole(all.size() * row);
  FillDropout(key, 0.25, all, Row(row), std::span<float>(whole));
  double sum = 0, zeros = 0;
  for (const float x : whole) {
    sum += x;
    zeros += x == 0;
  }
  EXPECT_NEAR(sum / static_cast<double>(whole.size()), 1.0, 0.01);
  EXPECT_NEAR(zeros / static_cast<double>(whole.size()), 0.25, 0.01);
  for (size_t s = 0; s < all.size(); ++s) {
    std::vector<float> alone(row);
    const std::vector<int64_t> one = {all[s]};
    FillDropout(key, 0.25, one, Row(row), std::span<float>(alone));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.begin() + s * row));
  }
}

TEST(FillDropoutTest, StepLayerSiteAndSeedEachChangeTheMask) {
  const std::vector<int64_t> samples = {5};
  const auto draw = [&](DropoutKey key) {
    std::vector<double> out(512);
    FillDropout(key, 0.5, samples, Row(512), std::span<double>(out));
    return out;
  };
  const DropoutKey key{.seed = 1, .step = 1, .layer = 1, .site = 1};
  EXPECT_EQ(draw(key), draw(key));
  EXPECT_NE(draw(key), draw({.seed = 2, .step = 1, .layer = 1, .site = 1}));
  EXPECT_NE(draw(key), draw({.seed = 1, .step = 2, .layer = 1, .site = 1}));
  EXPECT_NE(draw(key), draw({.seed = 1, .step = 1, .layer = 2, .site = 1}));
  EXPECT_NE(draw(key), draw({.seed = 1, .step = 1, .layer = 1, .site = 2}));
}

}  // namespace
}  // namespace muster::trainer
