#include "operator/placement/filter/host_port_policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

constexpr char kEveryAddress[] = "0.0.0.0";

bool Conflicts(const HostPort& wanted, const HostPort& used) {
  if (wanted.port != used.port || wanted.protocol != used.protocol) return false;
  return wanted.ip == kEveryAddress || used.ip == kEveryAddress || wanted.ip == used.ip;
}

}  // namespace

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

}  // namespace muster::control
