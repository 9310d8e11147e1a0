#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_PEER_AUTH_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_PEER_AUTH_H_

#include <grpcpp/grpcpp.h>

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/coordinator/identity/node_identity.h"
#include "operator/coordinator/identity/peer_identity.h"
#include "proto/muster/v1alpha1/node_report.pb.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::control {

// Reads and judges what gRPC has verified about the other end of a connection. Pure.

struct CertifiedPeer {
  std::variant<PeerIdentity, NodeIdentity> identity;  // a worker or a node agent
  std::string uri;
  absl::Time not_after;  // wall
};

// Refusals: kNoCertificate, kBadCertificate.
absl::StatusOr<CertifiedPeer> ReadPeer(const grpc::AuthContext& context);
// Refusals: kOtherJob, kOtherWorker, kOtherIncarnation, kOtherPod.
absl::Status CheckClaim(const CertifiedPeer& proven, const v1alpha1::WorkerId& claimed);
// Refusals: kOtherNode.
absl::Status CheckClaim(const CertifiedPeer& proven, const v1alpha1::NodeHello& claimed);
// Returns the host of a gRPC peer, "10.0.0.7" for "ipv4:10.0.0.7:41234": with the port, every
// connection would be another peer.
std::string HostOf(absl::string_view grpc_peer);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_PEER_AUTH_H_
