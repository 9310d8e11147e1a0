#include "operator/coordinator/coordinator_server.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "base/net/unix_socket.h"
#include "base/status_macros.h"
#include "operator/coordinator/coordinator_service.h"
#include "operator/coordinator/identity/server_credentials.h"
#include "operator/coordinator/stream/read_lag_probe.h"
#include "proto/muster/v1alpha1/agent_limits.h"

namespace muster::control {
namespace {

// Ample for a Prepare order of 5,000 members.
constexpr int kMaxSent = 16 << 20;

void Configure(grpc::ServerBuilder& builder) {
  // Agents divide or shorten what is longer.
  builder.SetMaxReceiveMessageSize(static_cast<int>(v1alpha1::kMaxAgentMessage));
  builder.SetMaxSendMessageSize(kMaxSent);
  // A port in use must fail, not be shared.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Keepalive finds peers that vanished without closing the connection.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  // Agents ping to find out if the operator is frozen: up to twice a second with the shortest
  // leases.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 200);
  // Thousands of connections carry a few bytes a second each: they need no probing of their
  // bandwidth, and only small buffers.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, 1024);
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, 1024);
  // These features keep data for every stream, and calls here have no deadline and no compression.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_DEADLINE_CHECKS, 0);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  // gRPC's locks are Abseil's, which by default looks for cycles among all locks of the process.
  // With thousands of streams that costs more than their work.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace

struct CoordinatorServer::Impl {
  Impl(AgentRegistry& registry_in, CoordinatorIdentity* identity, NodeBoard* nodes_in)
      : registry(registry_in), nodes(nodes_in), service(registry_in, identity, nodes_in) {}

  AgentRegistry& registry;
  NodeBoard* const nodes;
  CoordinatorService service;
  std::optional<HandshakeFailureWatch> handshakes;
  std::shared_ptr<grpc::ServerCredentials> tls;  // outlives the server
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<ReadLagProbe> probe;
  std::vector<std::string> addresses;
};

CoordinatorServer::CoordinatorServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CoordinatorServer::~CoordinatorServer() { Stop(); }

const std::vector<std::string>& CoordinatorServer::addresses() const { return impl_->addresses; }

absl::StatusOr<std::unique_ptr<CoordinatorServer>> CoordinatorServer::Start(
    const std::vector<std::string>& addresses, AgentRegistry& registry,
    CoordinatorIdentity* identity, NodeBoard* nodes) {
  auto impl = std::make_unique<Impl>(registry, identity, nodes);
  grpc::ServerBuilder builder;
  Configure(builder);
  std::vector<int> ports(addresses.size(), 0);
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (IsUnixAddress(addresses[i])) {
      MUSTER_RETURN_IF_ERROR(PrepareSocket(UnixPath(addresses[i]), "operator"));
      builder.AddListeningPort(addresses[i], grpc::InsecureServerCredentials(), &ports[i]);
      continue;
    }
    if (identity == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("the coordinator cannot serve ", addresses[i],
                       " without certificates: only unix: sockets are served without TLS"));
    }
    if (impl->tls == nullptr) {
      impl->handshakes.emplace(identity->refusals());
      impl->tls = MakeServerCredentials(*identity);
    }
    builder.AddListeningPort(addresses[i], impl->tls, &ports[i]);
  }
  builder.RegisterService(&impl->service);
  impl->server = builder.BuildAndStart();
  for (size_t i = 0; i < addresses.size(); ++i) {
    std::string address = addresses[i];
    if (impl->server == nullptr || ports[i] == 0) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", address));
    }
    if (IsUnixAddress(address)) {
      ::chmod(UnixPath(address).c_str(), 0600);
    } else if (absl::EndsWith(address, ":0")) {
      address = absl::StrCat(absl::StripSuffix(address, "0"), ports[i]);
    }
    impl->addresses.push_back(std::move(address));
  }
  MUSTER_ASSIGN_OR_RETURN(impl->probe, ReadLagProbe::Start(*impl->server, registry.clock(),
                                                           [&registry](absl::Time when) {
                                                             registry.HeardUntil(when);
                                                           }));
  return std::unique_ptr<CoordinatorServer>(new CoordinatorServer(std::move(impl)));
}

void CoordinatorServer::Stop() {
  if (impl_->server == nullptr) return;
  const absl::Status reason = absl::UnavailableError("the operator is shutting down");
  impl_->registry.CloseAll(reason);
  if (impl_->nodes != nullptr) impl_->nodes->CloseAll(reason);
  impl_->probe.reset();
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
  impl_->server->Wait();
  impl_->server.reset();
}

}  // namespace muster::control
