#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_SERVER_CREDENTIALS_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_SERVER_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "operator/coordinator/identity/coordinator_identity.h"
#include "operator/coordinator/identity/refusals.h"

namespace muster::control {

// Returns TLS credentials that take the serving certificate of `identity` anew at each handshake. A
// client's certificate is requested and verified against the authority, but not required: see
// Coordinator.Identify. The result and `identity` must outlive the server.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(CoordinatorIdentity& identity);

// While one of these lives, gRPC's error lines of this process go to muster's log, and failed
// handshakes are noted as kHandshakeFailed in `refusals`, which must outlive it. gRPC has no other
// way to report them, and does not name their peers.
class HandshakeFailureWatch {
 public:
  explicit HandshakeFailureWatch(RefusalLog& refusals);
  ~HandshakeFailureWatch();
  HandshakeFailureWatch(const HandshakeFailureWatch&) = delete;
  HandshakeFailureWatch& operator=(const HandshakeFailureWatch&) = delete;

 private:
  RefusalLog& refusals_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_SERVER_CREDENTIALS_H_
