#ifndef MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVICE_H_
#define MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "operator/coordinator/identity/coordinator_identity.h"
#include "operator/coordinator/identity/identify_queue.h"
#include "operator/coordinator/node_board.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::control {

// Serves Attach and Identify over gRPC's callback API: no thread per stream. A thin shell: messages
// are passed to the registry, those of node agents to the board. A stream's outgoing queue is
// bounded; a peer that does not read is disconnected.
//
// Over a unix socket, which only this user can open, peers are trusted. Over TLS, a stream needs a
// client certificate for the worker or node in its hello, and ends if that one has not renewed its
// certificate in time. Registry, identity and board must outlive the server that serves this.
//
// Attach works on bytes: outgoing messages were serialised once for all streams, and no stream
// keeps a message between two reads. So does Identify, which any peer may call: requests that are
// too large or too frequent are refused before they are parsed.
class CoordinatorService final
    : public v1alpha1::Coordinator::WithRawCallbackMethod_Attach<
          v1alpha1::Coordinator::WithRawCallbackMethod_Identify<v1alpha1::Coordinator::Service>> {
 public:
  // The bound on messages that wait for one peer.
  static constexpr size_t kMaxQueued = 64;
  // The bound on a request of a peer that has no certificate yet.
  static constexpr size_t kMaxIdentifyBytes = 32 << 10;

  // `identity` may be null; then only unix sockets may be served. `nodes` may be null; then node
  // agents are refused.
  CoordinatorService(AgentRegistry& registry, CoordinatorIdentity* identity, NodeBoard* nodes);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Identify(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;

 private:
  AgentRegistry& registry_;
  CoordinatorIdentity* const identity_;
  NodeBoard* const nodes_;
  std::unique_ptr<IdentifyQueue> identify_;  // null without identity
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVICE_H_
