#include "operator/placement/filter/spot_policy.h"

#include "gtest/gtest.h"
#include "operator/placement/cluster/spot_labels.h"
#include "operator/placement/filter/filter_memo.h"

namespace muster::control {
namespace {

SchedulingPod Avoiding() {
  SchedulingPod pod;
  pod.labels = {{kSpotLabel, kSpotAvoided}};
  return pod;
}

SchedulingNode NodeWith(const LabelMap& labels) {
  SchedulingNode node;
  node.labels = labels;
  return node;
}

TEST(SpotPolicyTest, APodThatAvoidsSpotNodesIsRefusedByThemAlone) {
  const SchedulingNode spot = NodeWith({{"karpenter.sh/capacity-type", "spot"}});
  const auto refusal = CheckSpot(Avoiding(), spot);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, FilterReason::kSpotNode);
  EXPECT_EQ(Sentence(*refusal), "nodes like it are spot nodes, which spot.allow rules out");
  EXPECT_FALSE(CheckSpot(Avoiding(), NodeWith({{"karpenter.sh/capacity-type", "on-demand"}})));
  EXPECT_FALSE(CheckSpot(Avoiding(), NodeWith({})));
  EXPECT_FALSE(CheckSpot(SchedulingPod(), spot));
}

TEST(SpotPolicyTest, AnswersAboutPodsThatAvoidSpotNodesAreNotTakenForOthers) {
  EXPECT_NE(TemplateKey(Avoiding()), TemplateKey(SchedulingPod()));
}

}  // namespace
}  // namespace muster::control
