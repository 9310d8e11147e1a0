#include "agent/worker/nccl_hints.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::agent {

void AddNcclHints(const std::vector<InfinibandReading>& ports, int workers, Environment& env) {
  if (workers < 2) return;
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

}  // namespace muster::agent
