#include "operator/placement/filter/template_policy.h"

#include "gtest/gtest.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/refusal.h"

namespace muster::control {
namespace {

TEST(TemplatePolicyTest, AnotherSchedulersPodIsRefused) {
  const SchedulingPod other = PodOf("p", "{'schedulerName':'volcano'}");
  EXPECT_EQ(CheckTemplate(other, "muster"),
            (NodeRefusal{FilterReason::kOtherScheduler, "volcano"}));
  EXPECT_EQ(CheckTemplate(PodOf("p"), "muster"),
            (NodeRefusal{FilterReason::kOtherScheduler, "default-scheduler"}));
  EXPECT_FALSE(CheckTemplate(PodOf("p", "{'schedulerName':'muster'}"), "muster"));
  EXPECT_FALSE(CheckTemplate(other, ""));
}

TEST(TemplatePolicyTest, ResourceClaimsAreRefused) {
  const SchedulingPod pod =
      PodOf("p", "{'resourceClaims':[{'name':'gpu','resourceClaimName':'c'}]}");
  EXPECT_EQ(CheckTemplate(pod, ""), (NodeRefusal{FilterReason::kResourceClaims, ""}));
}

}  // namespace
}  // namespace muster::control
