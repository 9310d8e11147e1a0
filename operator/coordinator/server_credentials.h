#ifndef MUSTER_OPERATOR_COORDINATOR_SERVER_CREDENTIALS_H_
#define MUSTER_OPERATOR_COORDINATOR_SERVER_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "operator/coordinator/coordinator_identity.h"
#include "operator/coordinator/refusals.h"

namespace muster::control {

// TLS with the serving certificate that `identity` has at the moment of each handshake, so that it
// is renewed without touching open connections or the port. A client certificate is asked for and
// verified against the authority, but not required: see Coordinator.Identify. gRPC's own reloading
// credentials want files; keys stay in memory here. It and `identity` must outlive the server:
// the server's builder does not keep it.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(CoordinatorIdentity& identity);

// While one lives, gRPC's error lines of this process go to our log, and handshakes that failed are
// noted as kHandshakeFailed in `refusals`, which must outlive it. gRPC has no other way to tell of
// them, and does not say whose they were.
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

#endif  // MUSTER_OPERATOR_COORDINATOR_SERVER_CREDENTIALS_H_
