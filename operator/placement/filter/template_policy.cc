#include "operator/placement/filter/template_policy.h"

namespace muster::control {

std::optional<NodeRefusal> CheckTemplate(const SchedulingPod& pod,
                                         const std::string& scheduler_name) {
  if (!scheduler_name.empty() && pod.scheduler_name != scheduler_name) {
    return NodeRefusal{FilterReason::kOtherScheduler,
                       pod.scheduler_name.empty() ? "default-scheduler" : pod.scheduler_name};
  }
  if (pod.wants().resource_claims) return NodeRefusal{FilterReason::kResourceClaims, ""};
  return std::nullopt;
}

}  // namespace muster::control
