#include "operator/coordinator/identity/peer_auth.h"

#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/rpc/peer_certificate.h"
#include "base/tls/x509.h"
#include "operator/coordinator/identity/refusals.h"

namespace muster::control {
namespace {

absl::Status NoPeer(Refusal reason, const std::string& message) {
  return Refused(reason, absl::StatusCode::kUnauthenticated, message);
}

absl::Status NotYours(Refusal reason, const PeerIdentity& proven, const std::string& claimed) {
  return Refused(reason, absl::StatusCode::kPermissionDenied,
                 absl::StrCat("the certificate is for ", Describe(proven), ", not for ", claimed));
}

}  // namespace

absl::StatusOr<CertifiedPeer> ReadPeer(const grpc::AuthContext& context) {
  const std::optional<std::string> pem = PeerCertificate(context);
  if (!pem) {
    return NoPeer(Refusal::kNoCertificate,
                  "a client certificate is needed here: get one with Identify first");
  }
  const absl::StatusOr<CertificateInfo> certificate = ReadCertificate(*pem);
  if (!certificate.ok() || certificate->uris.size() != 1) {
    return NoPeer(Refusal::kBadCertificate, "the client certificate must name one worker");
  }
  const std::string& uri = certificate->uris[0];
  if (IsNodeUri(uri)) {
    absl::StatusOr<NodeIdentity> node = ParseNodeUri(uri);
    if (!node.ok()) return NoPeer(Refusal::kBadCertificate, std::string(node.status().message()));
    return CertifiedPeer{*std::move(node), uri, certificate->not_after};
  }
  absl::StatusOr<PeerIdentity> worker = ParsePeerUri(uri);
  if (!worker.ok()) return NoPeer(Refusal::kBadCertificate, std::string(worker.status().message()));
  return CertifiedPeer{*std::move(worker), uri, certificate->not_after};
}

absl::Status CheckClaim(const CertifiedPeer& peer, const v1alpha1::WorkerId& claimed) {
  if (const auto* node = std::get_if<NodeIdentity>(&peer.identity)) {
    return Refused(Refusal::kOtherWorker, absl::StatusCode::kPermissionDenied,
                   absl::StrCat("the certificate is for the agent of node ", node->node,
                                ", not for a worker"));
  }
  const PeerIdentity& proven = std::get<PeerIdentity>(peer.identity);
  switch (Compare(proven, claimed)) {
    case Mismatch::kNone:
      return absl::OkStatus();
    case Mismatch::kOtherJob:
      return NotYours(Refusal::kOtherJob, proven,
                      absl::StrCat("job ", claimed.namespace_(), "/", claimed.job(), " (uid ",
                                   claimed.job_uid(), ")"));
    case Mismatch::kOtherWorker:
      return NotYours(Refusal::kOtherWorker, proven, absl::StrCat("worker ", claimed.index()));
    case Mismatch::kOtherIncarnation:
      return NotYours(Refusal::kOtherIncarnation, proven,
                      absl::StrCat("incarnation ", claimed.incarnation()));
    case Mismatch::kOtherPod:
      return NotYours(Refusal::kOtherPod, proven, absl::StrCat("pod ", claimed.pod_uid()));
  }
  return absl::InternalError("unknown mismatch");
}

absl::Status CheckClaim(const CertifiedPeer& peer, const v1alpha1::NodeHello& claimed) {
  const auto* node = std::get_if<NodeIdentity>(&peer.identity);
  const auto not_yours = [&](const std::string& owner) {
    return Refused(Refusal::kOtherNode, absl::StatusCode::kPermissionDenied,
                   absl::StrCat("the certificate is for ", owner, ", not for the agent of node ",
                                claimed.node(), " in pod ", claimed.pod_uid()));
  };
  if (node == nullptr) return not_yours(Describe(std::get<PeerIdentity>(peer.identity)));
  if (node->node == claimed.node() && node->pod_uid == claimed.pod_uid()) return absl::OkStatus();
  return not_yours(absl::StrCat("the agent of node ", node->node, " in pod ", node->pod_uid));
}

std::string HostOf(absl::string_view grpc_peer) {
  const size_t scheme = grpc_peer.find(':');
  const size_t port = grpc_peer.rfind(':');
  if (scheme == absl::string_view::npos || scheme == port) return std::string(grpc_peer);
  return std::string(grpc_peer.substr(scheme + 1, port - scheme - 1));
}

}  // namespace muster::control
