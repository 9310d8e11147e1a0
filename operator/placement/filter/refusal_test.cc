#include "operator/placement/filter/refusal.h"

#include <cstdint>
#include <set>
#include <string_view>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

TEST(RefusalTest, SentencesHaveNumbers) {
  EXPECT_EQ(Sentence({FilterReason::kResources, "memory", int64_t{3} << 29, int64_t{1} << 30,
                      int64_t{32} << 30}),
            "nodes like it lack memory (1.5Gi needed, at most 1Gi of 32Gi free)");
  EXPECT_EQ(Sentence({FilterReason::kResources, "cpu", 1500, 250, 8000}),
            "nodes like it lack cpu (1.5 needed, at most 0.25 of 8 free)");
  EXPECT_EQ(Sentence({FilterReason::kTopologySpread, "rack", 2, 1}),
            "nodes like it would make the spread over rack uneven (skew 2, at most 1)");
}

TEST(RefusalTest, ASummaryNamesTheCommonestFirst) {
  RefusalSummary summary;
  EXPECT_EQ(summary.Text(), "there are no nodes");
  for (int i = 0; i < 1200; ++i) {
    summary.Add({FilterReason::kResources, "nvidia.com/gpu", 8, i % 5, 8});
  }
  for (int i = 0; i < 3; ++i) summary.Add({FilterReason::kTaint, "k:NoSchedule"});
  EXPECT_EQ(
      summary.Text(),
      "of 1,203 nodes 1,200 lack nvidia.com/gpu (8 needed, at most 4 of 8 free) and 3 have the "
      "taint k:NoSchedule");
}

TEST(RefusalTest, EveryReasonHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kFilterReasons; ++i) names.insert(Name(static_cast<FilterReason>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kFilterReasons));
  EXPECT_EQ(names.count("Unknown"), 0u);
}

}  // namespace
}  // namespace muster::control
