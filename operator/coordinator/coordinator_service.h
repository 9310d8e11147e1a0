#ifndef MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVICE_H_
#define MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "operator/coordinator/agent_registry.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::control {

// The Attach stream over gRPC's callback API: no thread per stream. A thin shell: what is said goes
// to the registry. A stream's outgoing queue is bounded; a peer that does not read is cut off. The
// registry must outlive the server that serves this.
class CoordinatorService final : public v1alpha1::Coordinator::CallbackService {
 public:
  // Orders waiting for one peer; Prepare of 5,000 members is the largest.
  static constexpr size_t kMaxQueued = 64;

  explicit CoordinatorService(AgentRegistry& registry) : registry_(registry) {}

  grpc::ServerBidiReactor<v1alpha1::AgentMessage, v1alpha1::OperatorMessage>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  AgentRegistry& registry_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_COORDINATOR_SERVICE_H_
