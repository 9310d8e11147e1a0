#include "planner/activations.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::planner {
namespace {

using testing::ElementsAre;

std::vector<int64_t> Recomputed(int32_t every, int64_t blocks) {
  std::vector<int64_t> found;
  for (int64_t b = 0; b < blocks; ++b) {
    if (IsRecomputed({.recompute_every = every}, b, blocks)) found.push_back(b);
  }
  return found;
}

TEST(ActivationsTest, TheLastOfSoManyBlocksIsComputedAgainButNeverTheModelsLast) {
  EXPECT_TRUE(Recomputed(0, 6).empty());
  EXPECT_THAT(Recomputed(1, 6), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Recomputed(2, 6), ElementsAre(1, 3));
  EXPECT_THAT(Recomputed(3, 7), ElementsAre(2, 5));
  EXPECT_TRUE(Recomputed(6, 6).empty());
}

TEST(ActivationsTest, BlocksThatAreComputedAgainAndTheLastOneAreNotPacked) {
  const ActivationOptions options{.recompute_every = 2, .format = SavedFormat::kInt8};
  std::vector<int64_t> packed;
  for (int64_t b = 0; b < 6; ++b) {
    if (IsPacked(options, b, 6)) packed.push_back(b);
  }
  EXPECT_THAT(packed, ElementsAre(0, 2, 4));
  EXPECT_FALSE(IsPacked({.recompute_every = 2}, 0, 6));
}

TEST(ActivationsTest, TheSpecSaysWhatIsKept) {
  v1alpha1::ActivationsSpec spec;
  EXPECT_EQ(ActivationsOf(spec), ActivationOptions());
  spec.set_recompute("None");
  spec.set_recompute_every(1);
  spec.set_compress("None");
  EXPECT_EQ(ActivationsOf(spec), ActivationOptions());
  spec.set_recompute("Full");
  EXPECT_EQ(ActivationsOf(spec), (ActivationOptions{.recompute_every = 1}));
  spec.set_recompute_every(3);
  spec.set_compress("BF16");
  EXPECT_EQ(ActivationsOf(spec),
            (ActivationOptions{.recompute_every = 3, .format = SavedFormat::kBf16}));
  spec.set_compress("INT8");
  EXPECT_EQ(ActivationsOf(spec).format, SavedFormat::kInt8);
}

TEST(ActivationsTest, PackedNumbersTakeTheirFormatsBytes) {
  EXPECT_EQ(PackedBytes(SavedFormat::kWhole, 512, 4), 2048);
  EXPECT_EQ(PackedBytes(SavedFormat::kBf16, 512, 8), 1024);
  EXPECT_EQ(PackedBytes(SavedFormat::kBf16, 512, 2), 1024);
  EXPECT_EQ(PackedBytes(SavedFormat::kInt8, 512, 4), 2 * 260);
  EXPECT_EQ(PackedBytes(SavedFormat::kInt8, 512, 2), 2 * 260);
  EXPECT_EQ(PackedBytes(SavedFormat::kInt8, 513, 8), 3 * 264);
}

}  // namespace
}  // namespace muster::planner
