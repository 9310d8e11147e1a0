#include "operator/core/state/index_ranges.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IndexRangesTest, WritesRunsAsRanges) {
  EXPECT_EQ(FormatIndices({}), "");
  EXPECT_EQ(FormatIndices({5}), "5");
  EXPECT_EQ(FormatIndices({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(IndexRangesTest, NamesOneWorkerOrSeveral) {
  EXPECT_EQ(NameWorkers({5}), "worker 5");
  EXPECT_EQ(NameWorkers({0, 1, 5}), "workers 0-1,5");
}

TEST(IndexRangesTest, ReadsWhatItWrote) {
  const std::set<int> indices = {0, 1, 2, 5, 7, 8, 4999};
  EXPECT_EQ(ParseIndices(FormatIndices(indices), 5000), indices);
  EXPECT_THAT(ParseIndices("", 5000), IsEmpty());
}

TEST(IndexRangesTest, LeavesOutWhatIsNoRange) {
  EXPECT_THAT(ParseIndices("x,1,-3,2-y,5-4,7", 10), ElementsAre(1, 7));
  EXPECT_THAT(ParseIndices("8-2147483647", 10), ElementsAre(8, 9)) << "a limit to what is believed";
}

// The longest text of a job with 5,000 workers fits the field.
TEST(IndexRangesTest, EveryOtherWorkerOf5000FitsTheField) {
  std::set<int> indices;
  for (int i = 0; i < 5000; i += 2) indices.insert(i);
  EXPECT_LE(FormatIndices(indices).size(), 16384u);
}

}  // namespace
}  // namespace muster::control
