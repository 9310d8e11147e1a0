#ifndef MUSTER_PROTO_MUSTER_V1ALPHA1_PROTOCOL_H_
#define MUSTER_PROTO_MUSTER_V1ALPHA1_PROTOCOL_H_

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/muster/v1alpha1/protocol_range.pb.h"

// How an agent and an operator of different releases agree on the protocol of their stream: the
// agent's hello has the range that it speaks, and the operator answers with the newest version that
// both do. An operator speaks the protocols of the release before, so that jobs train on while it
// is upgraded or rolled back. tests/wire has a conversation of each protocol. Pure.
namespace muster::v1alpha1 {

inline constexpr int kFirstProtocol = 1;
// The versions that the programs of this tree speak.
inline constexpr int kOldestProtocol = 1;
inline constexpr int kNewestProtocol = 1;
static_assert(kFirstProtocol <= kOldestProtocol && kOldestProtocol <= kNewestProtocol);

inline ProtocolRange OwnProtocols() {
  ProtocolRange range;
  range.set_oldest(kOldestProtocol);
  range.set_newest(kNewestProtocol);
  return range;
}

// Returns the range of an agent, of a worker or of a node: the first protocol had no such field.
template <typename Hello>
ProtocolRange ProtocolsOf(const Hello& hello) {
  if (hello.has_protocols()) return hello.protocols();
  ProtocolRange range;
  range.set_oldest(kFirstProtocol);
  range.set_newest(kFirstProtocol);
  return range;
}

// Returns the newest protocol in both ranges, or nullopt if there is none.
inline std::optional<int> AgreeOnProtocol(const ProtocolRange& a, const ProtocolRange& b) {
  const int newest = std::min(a.newest(), b.newest());
  if (newest < std::max(a.oldest(), b.oldest())) return std::nullopt;
  return newest;
}

// Returns the protocol that an operator chose by Welcome.protocol: the first one had no such field.
inline int ChosenProtocol(int welcome_protocol) {
  return std::max(welcome_protocol, kFirstProtocol);
}

// Returns true if the programs of this tree speak `protocol`.
inline bool IsSpoken(int protocol) {
  return kOldestProtocol <= protocol && protocol <= kNewestProtocol;
}

// Returns "protocol N" or "protocols N to M".
inline std::string ToText(const ProtocolRange& range) {
  if (range.oldest() == range.newest()) return absl::StrCat("protocol ", range.oldest());
  return absl::StrCat("protocols ", range.oldest(), " to ", range.newest());
}

}  // namespace muster::v1alpha1

#endif  // MUSTER_PROTO_MUSTER_V1ALPHA1_PROTOCOL_H_
