#ifndef MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVICE_H_
#define MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "operator/coordinator/agent_registry.h"
#include "operator/coordinator/coordinator_identity.h"
#include "operator/coordinator/identify_queue.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::control {

// Attach and Identify over gRPC's callback API: no thread per stream. A thin shell: what is said
// goes to the registry. A stream's outgoing queue is bounded; a peer that does not read is cut off.
//
// Over a unix socket, which only this user can open, peers are believed. Over TLS a stream needs a
// client certificate whose worker is the hello's, and ends when that worker has not renewed its
// certificate in time. Registry and identity must outlive the server that serves this.
//
// Attach moves bytes: what is sent was serialised once for all streams, and no stream keeps a
// message between two reads. Identify, which any peer may call, does too: what is too large or too
// often is refused before it is parsed.
class CoordinatorService final
    : public v1alpha1::Coordinator::WithRawCallbackMethod_Attach<
          v1alpha1::Coordinator::WithRawCallbackMethod_Identify<v1alpha1::Coordinator::Service>> {
 public:
  // Orders waiting for one peer.
  static constexpr size_t kMaxQueued = 64;
  // Of a peer that has not proven who it is.
  static constexpr size_t kMaxIdentifyBytes = 64 << 10;

  // Without `identity` only unix sockets may be served.
  CoordinatorService(AgentRegistry& registry, CoordinatorIdentity* identity);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Identify(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;

 private:
  AgentRegistry& registry_;
  CoordinatorIdentity* const identity_;
  std::unique_ptr<IdentifyQueue> identify_;  // null without identity
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVICE_H_
