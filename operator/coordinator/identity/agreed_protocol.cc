#include "operator/coordinator/identity/agreed_protocol.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "operator/coordinator/identity/refusals.h"
#include "proto/muster/v1alpha1/protocol.h"

namespace muster::control {
namespace {

absl::StatusOr<int> Agree(const v1alpha1::ProtocolRange& theirs, const std::string& version,
                          const char* until) {
  const v1alpha1::ProtocolRange ours = v1alpha1::OwnProtocols();
  if (const auto agreed = v1alpha1::AgreeOnProtocol(theirs, ours)) return *agreed;
  return Refused(Refusal::kOtherProtocol, absl::StatusCode::kUnimplemented,
                 absl::StrCat("the agent (version ", version, ") speaks ", ToText(theirs),
                              ", this operator (version ", kVersion, ") speaks ", ToText(ours),
                              ": use an operator that speaks both until ", until));
}

}  // namespace

absl::StatusOr<int> AgreedProtocol(const v1alpha1::AgentHello& hello) {
  return Agree(v1alpha1::ProtocolsOf(hello), hello.version(), "the job has ended");
}

absl::StatusOr<int> AgreedProtocol(const v1alpha1::NodeHello& hello) {
  return Agree(v1alpha1::ProtocolsOf(hello), hello.version(), "the node agents are upgraded");
}

}  // namespace muster::control
