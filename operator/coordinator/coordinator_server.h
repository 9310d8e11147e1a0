#ifndef MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVER_H_
#define MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/coordinator/agent_registry.h"
#include "operator/coordinator/coordinator_identity.h"

namespace muster::control {

// The gRPC server agents dial. Addresses are "unix:/path" or "host:port", port 0 for any free one.
// The folder of a unix socket must be of mode 0700, and is made so when it is missing; the socket
// is 0600. A socket that another process still answers on is refused, one left behind by a dead
// process is replaced. Ports speak TLS only. One thread calls it.
class CoordinatorServer {
 public:
  // `identity` may be null when all addresses are unix sockets. It and `registry` must outlive the
  // server. kAlreadyExists: a living operator has the socket. kUnavailable: an address cannot be
  // bound. kInvalidArgument: a port without identity.
  static absl::StatusOr<std::unique_ptr<CoordinatorServer>> Start(
      const std::vector<std::string>& addresses, AgentRegistry& registry,
      CoordinatorIdentity* identity = nullptr);
  ~CoordinatorServer();

  // As given, with the real ports.
  const std::vector<std::string>& addresses() const;
  // Ends every stream; agents dial again. Idempotent.
  void Stop();

 private:
  struct Impl;
  explicit CoordinatorServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVER_H_
