#ifndef MUSTER_AGENT_REPLICAS_REPLICA_SERVER_H_
#define MUSTER_AGENT_REPLICAS_REPLICA_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/replicas/replica_store.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/replica.grpc.pb.h"

namespace muster::agent {

// The gRPC service by which other workers' agents store and fetch their replicas. A worker stores
// only its own, and fetches those of any worker of its job: it may take that one's place. Serves
// from construction until it is destroyed. Thread-safe.
class ReplicaServer {
 public:
  // Returns the copies that are offered of a worker, the newest of each rank first.
  using CopiesOf = std::function<std::vector<ReplicaStore::Replica>(int index)>;
  struct Options {
    std::string address;  // "unix:/path", or "HOST:0" for any free port
    std::string job_uid;
  };

  // All must outlive it. Unavailable if the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<ReplicaServer>> Start(
      Options options, std::shared_ptr<grpc::ServerCredentials> credentials, ReplicaStore& store,
      CopiesOf copies_of, Files& files);
  // Ends all calls and waits for them.
  ~ReplicaServer();

  // Returns the port of an address HOST:0; 0 for a unix socket.
  int port() const { return port_; }

 private:
  class Service;

  ReplicaServer() = default;

  int port_ = 0;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_REPLICA_SERVER_H_
