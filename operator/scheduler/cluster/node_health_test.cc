#include "operator/scheduler/cluster/node_health.h"

#include <string>

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<NodeTrouble> Troubles(const std::string& spec,
                                  const std::string& status = R"({"conditions": [
                                      {"type": "Ready", "status": "True"}]})") {
  const Json json = {
      {"metadata", {{"name", "n"}}}, {"spec", Json::parse(spec)}, {"status", Json::parse(status)}};
  return TroublesOf(ParseNodeRecord(json).value());
}

TEST(NodeHealthTest, OneThatIsWellHasNoTrouble) {
  EXPECT_THAT(Troubles("{}"), IsEmpty());
  EXPECT_THAT(Troubles(R"({"taints": [{"key": "k", "effect": "PreferNoSchedule"}]})"), IsEmpty());
}

TEST(NodeHealthTest, EveryCauseIsTold) {
  EXPECT_THAT(Troubles(R"({"unschedulable": true, "taints": [
                           {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},
                           {"key": "team", "value": "a", "effect": "NoExecute"}]})",
                       R"({"allocatable": {"cpu": "-1"}, "conditions": [
                           {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]})"),
              ElementsAre(NodeTrouble{FilterReason::kNodeFaulty, "faulty: allocatable cpu is '-1'"},
                          NodeTrouble{FilterReason::kNodeLeaving,
                                      "about to go: Karpenter removes the node"},
                          NodeTrouble{FilterReason::kNodeNotReady, "not Ready (KubeletNotReady)"},
                          NodeTrouble{FilterReason::kNodeUnschedulable, "cordoned"},
                          NodeTrouble{FilterReason::kTaint, "taint team=a:NoExecute"}));
}

TEST(NodeHealthTest, WhatKubernetesSaysTwiceIsToldOnce) {
  EXPECT_THAT(Troubles(R"({"unschedulable": true, "taints": [
                           {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
                           {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]})",
                       "{}"),
              ElementsAre(NodeTrouble{FilterReason::kNodeNotReady, "not Ready"},
                          NodeTrouble{FilterReason::kNodeUnschedulable, "cordoned"}));
}

}  // namespace
}  // namespace muster::control
