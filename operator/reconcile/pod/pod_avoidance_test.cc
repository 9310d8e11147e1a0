#include "operator/reconcile/pod/pod_avoidance.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

Json TermsOf(const Json& spec) {
  return spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
             ["nodeSelectorTerms"];
}

Json NotOn(const char* node) {
  return {{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", {node}}};
}

TEST(PodAvoidanceTest, APodWithoutAffinityAvoidsTheNode) {
  Json spec = {{"containers", Json::array()}};
  AvoidNode("gpu-3", spec);
  EXPECT_EQ(TermsOf(spec), Json::array({{{"matchFields", Json::array({NotOn("gpu-3")})}}}));
}

TEST(PodAvoidanceTest, EveryTermOfTheTemplateExcludesTheNode) {
  const Json zone = {{"key", "zone"}, {"operator", "In"}, {"values", {"a"}}};
  const Json disk = {{"key", "disk"}, {"operator", "Exists"}};
  Json spec;
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
      ["nodeSelectorTerms"] = Json::array({{{"matchExpressions", Json::array({zone})}},
                                           {{"matchExpressions", Json::array({disk})}}});
  spec["affinity"]["podAffinity"] = Json::object();
  AvoidNode("gpu-3", spec);
  const Json avoid = Json::array({NotOn("gpu-3")});
  EXPECT_EQ(TermsOf(spec),
            Json::array({{{"matchExpressions", Json::array({zone})}, {"matchFields", avoid}},
                         {{"matchExpressions", Json::array({disk})}, {"matchFields", avoid}}}));
  EXPECT_TRUE(spec["affinity"].contains("podAffinity"));
}

}  // namespace
}  // namespace muster::control
