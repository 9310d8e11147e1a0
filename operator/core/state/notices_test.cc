#include "operator/core/state/notices.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'764'058'800);

bool IsNotice(const std::string& key, const std::string& value) {
  return FindAnnouncement({{key, value, "NoSchedule"}}, std::nullopt, kNow).has_value();
}

TEST(NoticesTest, TheListHasEveryNoticeAndNothingElse) {
  for (const char* key : {"aws-node-termination-handler/spot-itn",
                          "aws-node-termination-handler/scheduled-maintenance",
                          "aws-node-termination-handler/asg-lifecycle-termination",
                          "aws-node-termination-handler/rebalance-recommendation",
                          "cloud.google.com/impending-node-termination",
                          "remediator.kubernetes.azure.com/unschedulable", "karpenter.sh/disrupted",
                          "ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler",
                          "node.kubernetes.io/out-of-service"}) {
    EXPECT_TRUE(IsNotice(key, "")) << key;
    EXPECT_TRUE(IsNotice(key, "1700000000")) << key;
  }
  EXPECT_TRUE(IsNotice("karpenter.sh/disruption", "disrupting"));
  EXPECT_FALSE(IsNotice("karpenter.sh/disruption", "candidate"));
  for (const char* key :
       {"kubernetes.azure.com/scalesetpriority", "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "nvidia.com/gpu"}) {
    EXPECT_FALSE(IsNotice(key, "spot")) << key;
  }
  EXPECT_EQ(NoticeTaints().size(), 11u) << "a new one needs a line above";
}

TEST(NoticesTest, ATaintThatMayNeverComeTrueCountsOnlyWhereItKeepsPodsOff) {
  for (const char* key : {"aws-node-termination-handler/rebalance-recommendation",
                          "DeletionCandidateOfClusterAutoscaler"}) {
    const auto with = [&](const char* effect) {
      return FindAnnouncement({{key, "", effect}}, std::nullopt, kNow);
    };
    EXPECT_FALSE(with("PreferNoSchedule").has_value()) << key;
    ASSERT_TRUE(with("NoSchedule").has_value()) << key;
    EXPECT_TRUE(with("NoSchedule")->advice) << key;
  }
  const auto certain =
      FindAnnouncement({{"aws-node-termination-handler/rebalance-recommendation", "", "NoSchedule"},
                        {"DeletionCandidateOfClusterAutoscaler", "", "NoSchedule"}},
                       NodeNotice{"Reclaim", "AWS", kNow + absl::Minutes(30)}, kNow);
  EXPECT_FALSE(certain->advice) << "what is certain counts, though it leaves more time";
}

TEST(NoticesTest, TheShortestWarningCounts) {
  const auto found = FindAnnouncement({{"ToBeDeletedByClusterAutoscaler", "", ""},
                                       {"cloud.google.com/impending-node-termination", "", ""}},
                                      std::nullopt, kNow);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->left, absl::Seconds(30));
}

TEST(NoticesTest, ANoticeOfTheNodesAgentLeavesTheTimeUntilItsDeadline) {
  const auto found =
      FindAnnouncement({}, NodeNotice{"Reclaim", "AWS", kNow + absl::Seconds(95)}, kNow);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->source, "muster.dev/notice=Reclaim");
  EXPECT_EQ(found->who, "AWS takes the node");
  EXPECT_EQ(found->left, absl::Seconds(95));
}

TEST(NoticesTest, ANoticeThatIsLateSaysByHowMuch) {
  const auto found =
      FindAnnouncement({}, NodeNotice{"Maintenance", "Azure", kNow - absl::Seconds(5)}, kNow);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->left, -absl::Seconds(5));
}

TEST(NoticesTest, WithoutADeadlineTheKindTellsHowMuchTimeThereIsAtLeast) {
  EXPECT_EQ(FindAnnouncement({}, NodeNotice{"Rebalance", "AWS", std::nullopt}, kNow)->left,
            absl::Seconds(120));
  EXPECT_EQ(FindAnnouncement({}, NodeNotice{"Reclaim", "Google", std::nullopt}, kNow)->left,
            absl::Seconds(30));
  const auto unknown = FindAnnouncement({}, NodeNotice{"Sold", "", std::nullopt}, kNow);
  EXPECT_EQ(unknown->left, absl::Seconds(30)) << "a kind of a newer agent is urgent";
  EXPECT_EQ(unknown->who, "the cloud takes the node");
}

TEST(NoticesTest, OfATaintAndADeadlineTheEarlierCounts) {
  const std::vector<TaintView> taints = {{"aws-node-termination-handler/spot-itn", "", ""}};
  const auto left = [&](absl::Duration by_agent) {
    return FindAnnouncement(taints, NodeNotice{"Reclaim", "AWS", kNow + by_agent}, kNow)->left;
  };
  EXPECT_EQ(left(absl::Seconds(90)), absl::Seconds(90));
  EXPECT_EQ(left(absl::Seconds(300)), absl::Seconds(120));
}

}  // namespace
}  // namespace muster::control
