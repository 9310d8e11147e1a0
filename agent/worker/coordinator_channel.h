#ifndef MUSTER_AGENT_WORKER_COORDINATOR_CHANNEL_H_
#define MUSTER_AGENT_WORKER_COORDINATOR_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "agent/worker/agent_identity.h"

namespace muster::agent {

// A channel of its own for each dial, so that gRPC's back-off does not add to ours.

// To a unix socket: no TLS.
std::shared_ptr<grpc::Channel> NewLocalChannel(const std::string& address);
// TLS to whoever proves to be the coordinator by `authority_pem`, whatever its address; `client` is
// presented when it is not empty. A peer that answers nothing, not even pings, for `silence` is
// given up.
std::shared_ptr<grpc::Channel> NewTlsChannel(const std::string& address,
                                             const std::string& authority_pem,
                                             const KeyAndCertificate& client,
                                             absl::Duration silence);

bool IsLocalAddress(const std::string& address);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_COORDINATOR_CHANNEL_H_
