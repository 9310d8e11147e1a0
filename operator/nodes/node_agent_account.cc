#include "operator/nodes/node_agent_account.h"

#include "absl/status/status.h"
#include "operator/kube/name_rules.h"

namespace muster::control {

absl::StatusOr<NodeAgentAccount> ParseNodeAgentAccount(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash != std::string::npos) {
    NodeAgentAccount account{text.substr(0, slash), text.substr(slash + 1)};
    if (kube::IsDnsLabel(account.ns) && kube::IsDnsSubdomain(account.name)) return account;
  }
  return absl::InvalidArgumentError("wants NAMESPACE/SERVICEACCOUNT");
}

}  // namespace muster::control
