#include "operator/placement/filter/taint_policy.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"

namespace muster::control {
namespace {

// Parses a decimal integer as Kubernetes writes one: no leading zero, no plus.
std::optional<int64_t> ToInteger(const std::string& text) {
  const size_t at = text.size() > 1 && text[0] == '-' ? 1 : 0;
  if (text.empty() || (text[at] == '0' && text.size() > 1)) return std::nullopt;
  for (size_t i = at; i < text.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) return std::nullopt;
  }
  int64_t value = 0;
  return absl::SimpleAtoi(text, &value) ? std::optional(value) : std::nullopt;
}

bool ValueMatches(const PodToleration& toleration, const NodeTaint& taint, bool comparison) {
  if (toleration.op.empty() || toleration.op == "Equal") return toleration.value == taint.value;
  if (toleration.op == "Exists") return true;
  if (!comparison || (toleration.op != "Gt" && toleration.op != "Lt")) return false;
  const auto bound = ToInteger(toleration.value);
  const auto value = ToInteger(taint.value);
  if (!bound || !value) return false;
  return toleration.op == "Gt" ? *value > *bound : *value < *bound;
}

std::string Show(const NodeTaint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

}  // namespace

bool Tolerates(const SchedulingPod& pod, const NodeTaint& taint, bool comparison) {
  const auto& tolerations = pod.wants().tolerations;
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const PodToleration& one) {
    if (!one.effect.empty() && one.effect != taint.effect) return false;
    if (!one.key.empty() && one.key != taint.key) return false;
    return ValueMatches(one, taint, comparison);
  });
}

std::optional<NodeRefusal> CheckUnschedulable(const SchedulingPod& pod, const SchedulingNode& node,
                                              bool comparison) {
  if (!node.unschedulable) return std::nullopt;
  if (Tolerates(pod, {"node.kubernetes.io/unschedulable", "", "NoSchedule"}, comparison)) {
    return std::nullopt;
  }
  return NodeRefusal{FilterReason::kNodeUnschedulable, ""};
}

std::optional<NodeRefusal> CheckTaints(const SchedulingPod& pod, const SchedulingNode& node,
                                       bool comparison) {
  for (const NodeTaint& taint : node.taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    if (!Tolerates(pod, taint, comparison)) return NodeRefusal{FilterReason::kTaint, Show(taint)};
  }
  return std::nullopt;
}

}  // namespace muster::control
