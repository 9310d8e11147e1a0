#ifndef MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVER_H_
#define MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/coordinator/identity/coordinator_identity.h"
#include "operator/coordinator/node_board.h"
#include "operator/coordinator/stream/agent_registry.h"

namespace muster::control {

// The gRPC server that agents dial. Addresses are "unix:/path" or "host:port", with port 0 for any
// free one. The folder of a unix socket must have mode 0700, and is created so if missing; the
// socket has mode 0600. A socket on which another process still answers is refused; one that a dead
// process left is replaced. Ports serve TLS only. One thread calls it.
class CoordinatorServer {
 public:
  // `identity` may be null if all addresses are unix sockets, `nodes` if no node agents are to be
  // served. They and `registry` must outlive the server. Errors: kAlreadyExists (a living operator
  // has the socket), kUnavailable (an address cannot be bound), kInvalidArgument (a port without
  // identity).
  static absl::StatusOr<std::unique_ptr<CoordinatorServer>> Start(
      const std::vector<std::string>& addresses, AgentRegistry& registry,
      CoordinatorIdentity* identity = nullptr, NodeBoard* nodes = nullptr);
  ~CoordinatorServer();

  // Returns the addresses as given, with the actual ports.
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
