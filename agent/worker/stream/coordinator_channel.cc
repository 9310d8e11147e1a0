#include "agent/worker/stream/coordinator_channel.h"

#include <algorithm>

namespace muster::agent {
namespace {

// The name in every replica's certificate, independent of the address that is dialled.
constexpr char kServerName[] = "muster-coordinator";
// Longer than the longest pause between two dials.
constexpr int kIdleMs = 3000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // The channel of the first Identify is kept for good, but its idle connection is not: the
  // coordinator would hold two connections of every agent.
  arguments.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, kIdleMs);
  return arguments;
}

}  // namespace

std::shared_ptr<grpc::Channel> NewLocalChannel(const std::string& address) {
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), Arguments());
}

std::shared_ptr<grpc::Channel> NewTlsChannel(const std::string& address,
                                             const std::string& authority_pem,
                                             const KeyAndCertificate& client,
                                             absl::Duration silence) {
  grpc::ChannelArguments arguments = Arguments();
  arguments.SetSslTargetNameOverride(kServerName);
  const int half = static_cast<int>(std::max<int64_t>(1, absl::ToInt64Milliseconds(silence) / 2));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, half);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, half);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = authority_pem;
  tls.pem_private_key = client.key_pem;
  tls.pem_cert_chain = client.certificate_pem;
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(tls), arguments);
}

}  // namespace muster::agent
