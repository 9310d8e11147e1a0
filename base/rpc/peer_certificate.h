#ifndef MUSTER_BASE_RPC_PEER_CERTIFICATE_H_
#define MUSTER_BASE_RPC_PEER_CERTIFICATE_H_

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>

namespace muster {

// Returns true for a call over TLS; false for a unix socket, whose mode keeps everybody else out.
bool IsEncrypted(const grpc::AuthContext& context);

// Returns the caller's certificate in PEM, which the handshake has verified; nullopt if it has
// none.
std::optional<std::string> PeerCertificate(const grpc::AuthContext& context);

}  // namespace muster

#endif  // MUSTER_BASE_RPC_PEER_CERTIFICATE_H_
