#include "operator/core/resume/slice_span.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

SliceSpan Span(int shard, int shards) {
  v1alpha1::StateSlice slice;
  slice.set_shard(shard);
  slice.set_shards(shards);
  return SpanOf(slice);
}

std::string Gap(std::vector<SliceSpan> spans) {
  const auto gap = FirstGap(std::move(spans));
  return gap ? Text(*gap) : "none";
}

TEST(SliceSpanTest, ARankThatSaysNothingHoldsAll) {
  EXPECT_EQ(Gap({SpanOf({})}), "none");
  EXPECT_EQ(Gap({Span(0, 1)}), "none");
}

TEST(SliceSpanTest, NobodyHoldsNothing) { EXPECT_EQ(Gap({}), "the part from 0 to 1"); }

TEST(SliceSpanTest, SlicesOfOneDivisionCoverOnlyTogether) {
  EXPECT_EQ(Gap({Span(2, 3), Span(0, 3), Span(1, 3)}), "none");
  EXPECT_EQ(Gap({Span(2, 3), Span(0, 3)}), "the part from 1/3 to 2/3");
  EXPECT_EQ(Gap({Span(1, 3), Span(2, 3)}), "the part from 0 to 1/3");
  EXPECT_EQ(Gap({Span(0, 4), Span(1, 4), Span(1, 4)}), "the part from 1/2 to 1");
}

TEST(SliceSpanTest, SlicesOfDifferentDivisionsCoverTogether) {
  EXPECT_EQ(Gap({Span(0, 2), Span(2, 4), Span(3, 4)}), "none");
  EXPECT_EQ(Gap({Span(0, 2), Span(2, 3)}), "the part from 1/2 to 2/3");
  EXPECT_EQ(Gap({Span(1, 3), Span(0, 2), Span(1, 2)}), "none");
}

TEST(SliceSpanTest, AShardThatDoesNotExistIsNothing) {
  EXPECT_EQ(Gap({Span(2, 2)}), "the part from 0 to 1");
  EXPECT_EQ(Gap({Span(-1, 2), Span(1, 2)}), "the part from 0 to 1/2");
  EXPECT_EQ(Gap({Span(1, 0)}), "the part from 0 to 1");
}

}  // namespace
}  // namespace muster::control
