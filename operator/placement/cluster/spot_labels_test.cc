#include "operator/placement/cluster/spot_labels.h"

#include <utility>

#include "gtest/gtest.h"
#include "operator/placement/label_map.h"

namespace muster::control {
namespace {

TEST(SpotLabelsTest, EachCloudsLabelMarksASpotNode) {
  const std::pair<const char*, const char*> labels[] = {
      {"karpenter.sh/capacity-type", "spot"},
      {"eks.amazonaws.com/capacityType", "SPOT"},
      {"cloud.google.com/gke-spot", "true"},
      {"cloud.google.com/gke-preemptible", "true"},
      {"kubernetes.azure.com/scalesetpriority", "spot"},
      {"muster.dev/capacity-type", "spot"},
  };
  for (const auto& [key, value] : labels) {
    EXPECT_TRUE(IsSpotNode({{key, value}})) << key;
    EXPECT_FALSE(IsSpotNode({{key, "on-demand"}})) << key;
    EXPECT_FALSE(IsSpotNode({{key, ""}})) << key;
  }
}

TEST(SpotLabelsTest, ANodeWithoutSuchALabelIsNoSpotNode) {
  EXPECT_FALSE(IsSpotNode({}));
  EXPECT_FALSE(IsSpotNode({{"eks.amazonaws.com/capacityType", "ON_DEMAND"}}));
  EXPECT_FALSE(IsSpotNode({{"example.com/spot", "true"}}));
}

TEST(SpotLabelsTest, MustersOwnLabelOverridesTheClouds) {
  const char* const own = "muster.dev/capacity-type";
  const char* const cloud = "karpenter.sh/capacity-type";
  EXPECT_FALSE(IsSpotNode({{cloud, "spot"}, {own, "on-demand"}}));
  EXPECT_TRUE(IsSpotNode({{cloud, "on-demand"}, {own, "spot"}}));
  EXPECT_TRUE(IsSpotNode({{cloud, "spot"}, {own, "something-else"}}));
}

TEST(SpotLabelsTest, ThePoolIsInstanceTypeAndZone) {
  const LabelMap node = {{"node.kubernetes.io/instance-type", "p5.48xlarge"},
                         {"topology.kubernetes.io/zone", "us-east-1a"}};
  const LabelMap other_zone = {{"node.kubernetes.io/instance-type", "p5.48xlarge"},
                               {"topology.kubernetes.io/zone", "us-east-1b"}};
  EXPECT_EQ(SpotPoolOf(node), "p5.48xlarge us-east-1a");
  EXPECT_NE(SpotPoolOf(node), SpotPoolOf(other_zone));
  EXPECT_EQ(SpotPoolOf({}), SpotPoolOf({{"cloud.google.com/gke-spot", "true"}}));
}

}  // namespace
}  // namespace muster::control
