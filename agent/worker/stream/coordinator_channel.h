#ifndef MUSTER_AGENT_WORKER_STREAM_COORDINATOR_CHANNEL_H_
#define MUSTER_AGENT_WORKER_STREAM_COORDINATOR_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "agent/worker/stream/agent_identity.h"

namespace muster::agent {

// Each dial gets a new channel, so that gRPC's backoff does not add to the client's own.

// Connects to a unix socket, without TLS.
std::shared_ptr<grpc::Channel> NewLocalChannel(const std::string& address);
// Connects by TLS to a peer that proves to be the coordinator by `authority_pem`, at any address;
// presents `client` if it is not empty. Gives up a peer that answers nothing, not even pings, for
// `silence`.
std::shared_ptr<grpc::Channel> NewTlsChannel(const std::string& address,
                                             const std::string& authority_pem,
                                             const KeyAndCertificate& client,
                                             absl::Duration silence);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_STREAM_COORDINATOR_CHANNEL_H_
