#include "operator/coordinator/identity/node_identity.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "operator/coordinator/identity/peer_identity.h"

namespace muster::control {
namespace {

constexpr char kPrefix[] = "spiffe://muster/node/";
constexpr size_t kMaxUri = 2048;  // SPIFFE's own bound

}  // namespace

std::string ToUri(const NodeIdentity& identity) {
  return absl::StrCat(kPrefix, identity.node, "/pod/", identity.ns, "/", identity.pod, "/",
                      identity.pod_uid);
}

bool IsNodeUri(absl::string_view uri) { return absl::StartsWith(uri, kPrefix); }

absl::StatusOr<NodeIdentity> ParseNodeUri(absl::string_view uri) {
  absl::string_view path = uri;
  std::vector<std::string> part;
  if (uri.size() <= kMaxUri && absl::ConsumePrefix(&path, kPrefix)) {
    part = absl::StrSplit(path, '/');
  }
  if (part.size() == 5 && part[1] == "pod" && IsUriName(part[0]) && IsUriName(part[2]) &&
      IsUriName(part[3]) && IsUriName(part[4])) {
    return NodeIdentity{part[0], part[2], part[3], part[4]};
  }
  return absl::InvalidArgumentError(absl::StrCat(uri.substr(0, 256),
                                                 " does not name a node: expected ", kPrefix,
                                                 "NODE/pod/NAMESPACE/NAME/UID"));
}

}  // namespace muster::control
