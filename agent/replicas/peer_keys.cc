#include "agent/replicas/peer_keys.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/net/unix_socket.h"
#include "base/rpc/peer_certificate.h"
#include "base/rpc/reloading_credentials.h"
#include "base/tls/worker_name.h"
#include "base/tls/x509.h"

namespace muster::agent {
namespace {

constexpr int kPingMs = 5000;

}  // namespace

void PeerKeyBox::Set(PeerKeys keys) {
  MutexLock lock(mu_);
  entry_ = {std::move(keys), entry_.generation + 1};
}

PeerKeyBox::Entry PeerKeyBox::Get() const {
  MutexLock lock(mu_);
  return entry_;
}

std::shared_ptr<grpc::ServerCredentials> MakePeerServerCredentials(const PeerKeyBox& keys) {
  return ReloadingCredentials(ClientCertificate::kRequired, [&keys]() -> std::optional<ServerKeys> {
    const PeerKeyBox::Entry entry = keys.Get();
    if (entry.keys.empty()) return std::nullopt;
    return ServerKeys{.key_pem = entry.keys.key_pem,
                      .certificate_pem = entry.keys.certificate_pem,
                      .authority_pem = entry.keys.authority_pem,
                      .generation = entry.generation};
  });
}

std::shared_ptr<grpc::Channel> NewPeerChannel(const v1alpha1::ReplicaPeer& peer,
                                              const std::string& job_uid, const PeerKeys& keys) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (IsUnixAddress(peer.endpoint())) {
    return grpc::CreateCustomChannel(peer.endpoint(), grpc::InsecureChannelCredentials(),
                                     arguments);
  }
  arguments.SetSslTargetNameOverride(WorkerServerName(job_uid, peer.worker()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingMs);
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = keys.authority_pem;
  tls.pem_private_key = keys.key_pem;
  tls.pem_cert_chain = keys.certificate_pem;
  return grpc::CreateCustomChannel(peer.endpoint(), grpc::SslCredentials(tls), arguments);
}

absl::Status CheckCaller(const grpc::AuthContext& context, const std::string& job_uid, int index) {
  if (!IsEncrypted(context)) return absl::OkStatus();
  const auto certificate = ReadCertificate(PeerCertificate(context).value_or(""));
  const std::string wanted = WorkerServerName(job_uid, index);
  if (certificate.ok() &&
      std::count(certificate->dns_names.begin(), certificate->dns_names.end(), wanted) > 0) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the certificate is not that of worker ", index, " of this job"));
}

absl::Status CheckCallerOfJob(const grpc::AuthContext& context, const std::string& job_uid) {
  if (!IsEncrypted(context)) return absl::OkStatus();
  const auto certificate = ReadCertificate(PeerCertificate(context).value_or(""));
  if (certificate.ok() &&
      std::any_of(certificate->dns_names.begin(), certificate->dns_names.end(),
                  [&](const std::string& name) { return IsWorkerServerName(name, job_uid); })) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError("the certificate is not that of a worker of this job");
}

}  // namespace muster::agent
