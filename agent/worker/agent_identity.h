#ifndef MUSTER_AGENT_WORKER_AGENT_IDENTITY_H_
#define MUSTER_AGENT_WORKER_AGENT_IDENTITY_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/files.h"
#include "base/tls/x509.h"
#include "proto/muster/v1alpha1/coordinator.pb.h"

namespace muster::agent {

// What an agent on a cluster is given to prove itself with. Empty on one machine, where the
// coordinator is a unix socket.
struct IdentitySources {
  std::string authority_pem;  // whom to believe that it is the coordinator
  std::string token_path;     // the pod's projected token, replaced by kubelet from time to time

  bool empty() const { return authority_pem.empty(); }
};

// Key and certificate for TLS, PEM. Empty before the first certificate.
struct KeyAndCertificate {
  std::string key_pem;
  std::string certificate_pem;
};

// The certificate this agent has and when it needs another. Each certificate has a key of its own,
// which never leaves this process. Times are monotonic: the coordinator says how long a certificate
// lives, so the machines' clocks need not agree. Not thread-safe.
class AgentIdentity {
 public:
  // `files` must outlive it.
  AgentIdentity(IdentitySources sources, Files& files);

  const std::string& authority_pem() const { return sources_.authority_pem; }

  // A request with a new key and the token as it is in its file now.
  absl::StatusOr<v1alpha1::IdentifyRequest> NewRequest();
  // The answer to the newest request, which was sent at `asked`.
  absl::Status Accept(const v1alpha1::IdentifyResponse& response, absl::Time asked);

  bool Usable(absl::Time now) const { return now < expires_; }
  // From two thirds of the certificate's life on.
  bool WantsRenewal(absl::Time now) const { return now >= renew_at_; }
  // The coordinator does not take it.
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

#endif  // MUSTER_AGENT_WORKER_AGENT_IDENTITY_H_
