#ifndef MUSTER_AGENT_WORKER_STREAM_AGENT_IDENTITY_H_
#define MUSTER_AGENT_WORKER_STREAM_AGENT_IDENTITY_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/files/files.h"
#include "base/tls/x509.h"
#include "proto/muster/v1alpha1/coordinator.pb.h"

namespace muster::agent {

// The inputs with which an agent on a cluster proves its identity. Empty on one machine, where the
// coordinator is a unix socket.
struct IdentitySources {
  std::string authority_pem;  // CA that signs the coordinator's certificate
  std::string token_path;     // the pod's projected token, which the kubelet rotates

  bool empty() const { return authority_pem.empty(); }
};

// Key and certificate for TLS, as PEM. Empty before the first certificate.
struct KeyAndCertificate {
  std::string key_pem;
  std::string certificate_pem;
};

// The agent's current certificate, and the time of its renewal. Each certificate has a key of its
// own, which never leaves this process. Times are monotonic: the coordinator sends the lifetime of
// a certificate, so the machines' clocks need not agree. Not thread-safe.
class AgentIdentity {
 public:
  // `files` must outlive it.
  AgentIdentity(IdentitySources sources, Files& files);

  const std::string& authority_pem() const { return sources_.authority_pem; }

  // Makes a request with a new key and the token that is now in its file.
  absl::StatusOr<v1alpha1::IdentifyRequest> NewRequest();
  // Takes the answer to the newest request, which was sent at `asked`.
  absl::Status Accept(const v1alpha1::IdentifyResponse& response, absl::Time asked);

  bool Usable(absl::Time now) const { return now < expires_; }
  // True after two thirds of the certificate's life.
  bool WantsRenewal(absl::Time now) const { return now >= renew_at_; }
  // Discards a certificate that the coordinator does not accept.
  void Drop();
  const KeyAndCertificate& current() const { return current_; }

 private:
  const IdentitySources sources_;
  Files& files_;
  std::optional<PrivateKey> asked_for_;
  KeyAndCertificate current_;
  absl::Time renew_at_ = absl::InfinitePast();
  absl::Time expires_ = absl::InfinitePast();
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_STREAM_AGENT_IDENTITY_H_
