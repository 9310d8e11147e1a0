#ifndef MUSTER_AGENT_HARDWARE_FABRIC_LINKS_H_
#define MUSTER_AGENT_HARDWARE_FABRIC_LINKS_H_

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

// The switch at the other end of an adapter's port.
struct SwitchEnd {
  std::string guid;  // 16 hexadecimal digits
  std::string name;  // the switch's description, as its administrator set it; may be empty

  friend bool operator==(const SwitchEnd&, const SwitchEnd&) = default;
};

// By the adapter's node GUID (16 hexadecimal digits) and port.
using FabricLinks = std::map<std::pair<std::string, int>, SwitchEnd>;

// Reads the topology that ibnetdiscover (infiniband-diags) prints without options. Blocks of
// adapters name the switch at each port; lines that say something else are passed over. Text
// without any block of a node is kInvalidArgument. Pure.
absl::StatusOr<FabricLinks> ParseIbnetdiscover(absl::string_view text);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_FABRIC_LINKS_H_
