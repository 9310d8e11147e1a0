#include "agent/worker/ranks/nccl_hints.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::agent {
namespace {

void NameFabric(const std::vector<InfinibandReading>& ports, Environment& env) {
  std::vector<std::string> fabric;
  bool others = false;
  for (const InfinibandReading& port : ports) {
    if (port.state != "ACTIVE") continue;
    if (port.link_layer == "InfiniBand") {
      fabric.push_back(absl::StrCat(port.device, ":", port.port));
    } else {
      others = true;
    }
  }
  if (fabric.empty() || !others) return;
  env.emplace("NCCL_IB_HCA", absl::StrCat("=", absl::StrJoin(fabric, ",")));
}

void NameInterface(const std::vector<InterfaceAddress>& addresses, const std::string& host,
                   Environment& env) {
  std::set<std::string> interfaces;
  std::string ours;
  for (const InterfaceAddress& one : addresses) {
    if (one.loopback) continue;
    interfaces.insert(one.interface);
    if (one.address == host) ours = one.interface;
  }
  if (ours.empty() || interfaces.size() < 2) return;
  env.emplace("NCCL_SOCKET_IFNAME", absl::StrCat("=", ours));
  env.emplace("GLOO_SOCKET_IFNAME", ours);
}

}  // namespace

void AddNcclHints(const std::vector<InfinibandReading>& ports,
                  const std::vector<InterfaceAddress>& addresses, const std::string& host,
                  int workers, Environment& env) {
  if (workers < 2) return;
  NameFabric(ports, env);
  NameInterface(addresses, host, env);
}

}  // namespace muster::agent
