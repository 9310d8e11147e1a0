#include "operator/scheduler/cluster/node_health.h"

#include <string>

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<NodeUnavailability> Troubles(const std::string& spec,
                                         const std::string& status = R"({"conditions": [
                                      {"type": "Ready", "status": "True"}]})") {
  const Json json = {
      {"metadata", {{"name", "n"}}}, {"spec", Json::parse(spec)}, {"status", Json::parse(status)}};
  return UnavailabilitiesOf(ParseNodeRecord(json).value());
}

TEST(NodeHealthTest, AHealthyNodeHasNone) {
  EXPECT_THAT(Troubles("{}"), IsEmpty());
  EXPECT_THAT(Troubles(R"({"taints": [{"key": "k", "effect": "PreferNoSchedule"}]})"), IsEmpty());
}

TEST(NodeHealthTest, EveryCauseIsReported) {
  EXPECT_THAT(
      Troubles(R"({"unschedulable": true, "taints": [
                           {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},
                           {"key": "team", "value": "a", "effect": "NoExecute"}]})",
               R"({"allocatable": {"cpu": "-1"}, "conditions": [
                           {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]})"),
      ElementsAre(
          NodeUnavailability{FilterReason::kNodeFaulty, "faulty: allocatable cpu is '-1'"},
          NodeUnavailability{FilterReason::kNodeLeaving, "about to go: Karpenter removes the node"},
          NodeUnavailability{FilterReason::kNodeNotReady, "not Ready (KubeletNotReady)"},
          NodeUnavailability{FilterReason::kNodeUnschedulable, "cordoned"},
          NodeUnavailability{FilterReason::kTaint, "taint team=a:NoExecute"}));
}

TEST(NodeHealthTest, ACauseThatKubernetesGivesTwiceIsReportedOnce) {
  EXPECT_THAT(Troubles(R"({"unschedulable": true, "taints": [
                           {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
                           {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]})",
                       "{}"),
              ElementsAre(NodeUnavailability{FilterReason::kNodeNotReady, "not Ready"},
                          NodeUnavailability{FilterReason::kNodeUnschedulable, "cordoned"}));
}

TEST(NodeHealthTest, ANoticeOfTheNodesAgentClosesIt) {
  const Json node = {{"metadata",
                      {{"name", "n"},
                       {"labels",
                        {{kNoticeLabel, "Reclaim"},
                         {kNoticeWhoLabel, "Google"},
                         {kNoticeDeadlineLabel, "no number"}}}}},
                     {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
  EXPECT_THAT(UnavailabilitiesOf(ParseNodeRecord(node).value()),
              ElementsAre(NodeUnavailability{FilterReason::kNodeLeaving,
                                             "about to go: Google takes the node"}));
}

}  // namespace
}  // namespace muster::control
