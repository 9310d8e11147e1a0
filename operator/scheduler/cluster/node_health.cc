#include "operator/scheduler/cluster/node_health.h"

#include "absl/strings/str_cat.h"
#include "operator/core/state/notices.h"

namespace muster::control {
namespace {

std::string WhyNotReady(const NodeRecord& node) {
  for (const ConditionView& condition : node.conditions) {
    if (condition.type != "Ready" || condition.reason.empty()) continue;
    return absl::StrCat("not Ready (", condition.reason, ")");
  }
  return "not Ready";
}

// Returns true if the taint is Kubernetes' own mark of a condition or a cordon.
bool IsEcho(const TaintView& taint) {
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
                          "node.kubernetes.io/unschedulable"}) {
    if (taint.key == key) return true;
  }
  return false;
}

std::string Text(const TaintView& taint) {
  return absl::StrCat(taint.key, taint.value.empty() ? "" : "=", taint.value, ":", taint.effect);
}

}  // namespace

std::vector<NodeUnavailability> UnavailabilitiesOf(const NodeRecord& node) {
  std::vector<NodeUnavailability> troubles;
  const SchedulingNode& said = *node.scheduling;
  if (said.complaint) {
    troubles.push_back(
        {FilterReason::kNodeFaulty, absl::StrCat("faulty: ", said.complaint->sentence)});
  }
  // The words do not depend on the time.
  if (const auto found = FindAnnouncement(node.taints, node.notice, absl::InfinitePast())) {
    troubles.push_back({FilterReason::kNodeLeaving, absl::StrCat("about to go: ", found->who)});
  }
  if (!said.ready) troubles.push_back({FilterReason::kNodeNotReady, WhyNotReady(node)});
  if (said.unschedulable) troubles.push_back({FilterReason::kNodeUnschedulable, "cordoned"});
  for (const TaintView& taint : node.taints) {
    const bool keeps_off = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    if (!keeps_off || IsEcho(taint) || FindNoticeTaint({taint}) != nullptr) continue;
    troubles.push_back({FilterReason::kTaint, absl::StrCat("taint ", Text(taint))});
  }
  return troubles;
}

}  // namespace muster::control
