#include "operator/placement/filter/resource_policy.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace muster::control {
namespace {

// Visits in kube-scheduler's order: CPU, memory, ephemeral storage, the others by name.
template <typename Visit>
void ForEach(const ResourceAmounts& requests, const ResourceAmounts& free, Visit visit) {
  visit("cpu", requests.cpu_millis, free.cpu_millis);
  visit("memory", requests.memory_bytes, free.memory_bytes);
  visit("ephemeral-storage", requests.ephemeral_bytes, free.ephemeral_bytes);
  for (const auto& [name, amount] : requests.scalars) visit(name, amount, free.scalar(name));
}

}  // namespace

std::optional<NodeRefusal> CheckResources(const SchedulingPod& pod, const NodeState& node) {
  if (node.free_pods() < 1) {
    return NodeRefusal{FilterReason::kResources, "pods", 1, std::max<int64_t>(node.free_pods(), 0),
                       node.node->allowed_pods};
  }
  std::optional<NodeRefusal> refusal;
  const ResourceAmounts& all = node.node->allocatable;
  ForEach(pod.requests, node.free, [&](std::string_view name, int64_t wanted, int64_t free) {
    if (refusal || wanted <= 0 || wanted <= free) return;
    refusal = {FilterReason::kResources, std::string(name), wanted, std::max<int64_t>(free, 0), 0};
  });
  if (refusal) {
    ForEach(pod.requests, all, [&](std::string_view name, int64_t, int64_t total) {
      if (name == refusal->subject) refusal->total = total;
    });
  }
  return refusal;
}

int64_t TimesIn(const ResourceAmounts& amounts, const ResourceAmounts& requests, int64_t limit) {
  int64_t times = std::max<int64_t>(limit, 0);
  ForEach(requests, amounts, [&](std::string_view, int64_t wanted, int64_t free) {
    if (wanted > 0) times = std::min(times, std::max<int64_t>(free, 0) / wanted);
  });
  return times;
}

}  // namespace muster::control
