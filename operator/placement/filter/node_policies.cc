#include "operator/placement/filter/node_policies.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "operator/placement/cluster/spot_labels.h"

namespace muster::control {
namespace {

constexpr char kEveryAddress[] = "0.0.0.0";

bool Conflicts(const HostPort& wanted, const HostPort& used) {
  if (wanted.port != used.port || wanted.protocol != used.protocol) return false;
  return wanted.ip == kEveryAddress || used.ip == kEveryAddress || wanted.ip == used.ip;
}

// Visits in kube-scheduler's order: CPU, memory, ephemeral storage, the others by name.
template <typename Visit>
void ForEach(const ResourceAmounts& requests, const ResourceAmounts& free, Visit visit) {
  visit("cpu", requests.cpu_millis, free.cpu_millis);
  visit("memory", requests.memory_bytes, free.memory_bytes);
  visit("ephemeral-storage", requests.ephemeral_bytes, free.ephemeral_bytes);
  for (const auto& [name, amount] : requests.scalars) visit(name, amount, free.scalar(name));
}

}  // namespace

std::optional<NodeRefusal> CheckTemplate(const SchedulingPod& pod,
                                         const std::string& scheduler_name) {
  if (!scheduler_name.empty() && pod.scheduler_name != scheduler_name) {
    return NodeRefusal{FilterReason::kOtherScheduler,
                       pod.scheduler_name.empty() ? "default-scheduler" : pod.scheduler_name};
  }
  if (pod.wants().resource_claims) return NodeRefusal{FilterReason::kResourceClaims, ""};
  return std::nullopt;
}

std::optional<NodeRefusal> CheckNodeHealth(const SchedulingPod& pod, const SchedulingNode& node) {
  if (node.complaint) return NodeRefusal{FilterReason::kNodeFaulty, node.complaint->sentence};
  if (!node.faults.rdma.empty() && pod.uses_rdma()) {
    return NodeRefusal{FilterReason::kNodeFaulty, node.faults.rdma};
  }
  if (!node.ready) return NodeRefusal{FilterReason::kNodeNotReady, ""};
  return std::nullopt;
}

std::optional<NodeRefusal> CheckSpot(const SchedulingPod& pod, const SchedulingNode& node) {
  if (!AvoidsSpot(pod.labels) || !IsSpotNode(node.labels)) return std::nullopt;
  return NodeRefusal{FilterReason::kSpotNode, ""};
}

std::optional<NodeRefusal> CheckHostPorts(const SchedulingPod& pod, const NodeState& node) {
  for (const HostPort& port : pod.host_ports) {
    const bool taken = std::any_of(node.ports.begin(), node.ports.end(),
                                   [&](const auto& entry) { return Conflicts(port, entry.first); });
    if (taken) {
      return NodeRefusal{FilterReason::kHostPorts, absl::StrCat(port.port, "/", port.protocol)};
    }
  }
  return std::nullopt;
}

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
