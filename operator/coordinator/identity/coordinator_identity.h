#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_COORDINATOR_IDENTITY_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_COORDINATOR_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/coordinator/identity/certificate_authority.h"
#include "operator/coordinator/identity/node_identity.h"
#include "operator/coordinator/identity/peer_identity.h"
#include "operator/coordinator/identity/peer_quota.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/coordinator/identity/token_reviewer.h"
#include "operator/coordinator/identity/validity_table.h"
#include "operator/kube/api.h"
#include "proto/muster/v1alpha1/coordinator.pb.h"

namespace muster::control {

// Returns the worker that runs in `pod`, if that pod is of the worker's current incarnation.
// Refusals: kReplaced, kNotAWorker. kUnavailable: the pod is not known yet, ask again. Thread-safe;
// must not block.
using FindWorker = std::function<absl::StatusOr<PeerIdentity>(const ReviewedPod& pod)>;

// Returns the node that the agent in `pod` may report about; nullopt if the pod is no node agent.
// kUnavailable: the pod is not known yet, ask again. Thread-safe; must not block.
using FindNode = std::function<absl::StatusOr<std::optional<NodeIdentity>>(const ReviewedPod& pod)>;

struct CoordinatorIdentityOptions {
  // The namespace of the Secret `muster-coordinator-ca`.
  std::string operator_namespace;
  FindWorker find_worker;
  FindNode find_node;  // empty: no pod is a node agent
  // Lifetimes of certificates. Agents renew theirs after two thirds of it; so does this replica.
  absl::Duration worker_lifetime = absl::Hours(1);
  absl::Duration server_lifetime = absl::Hours(24);
  // The rate at which peers without a certificate may make requests. Thousands of agents may share
  // one address behind network address translation.
  QuotaLimits quota = {.peer_rate = 50, .peer_burst = 2000, .rate = 200, .burst = 8000};
};

// The identities of this replica and of agents: the certificate authority, this replica's serving
// certificate, and Identify. Thread-safe. `api` and `clock` must outlive it.
class CoordinatorIdentity {
 public:
  // Reads the authority from its Secret; the first replica creates it.
  static absl::StatusOr<std::unique_ptr<CoordinatorIdentity>> Create(
      kube::Api& api, const Clock& clock, CoordinatorIdentityOptions options);

  // Returns OK if a message of `bytes` bytes of `peer`, which has no certificate yet, may be
  // parsed. Refusals, which are counted: kBadRequest, kTooOften.
  absl::Status Admit(size_t bytes, size_t most_bytes, const std::string& peer);
  // Returns a certificate for the worker or node agent that owns the request's token. Blocks for a
  // TokenReview. Refusals are counted, and logged under `peer`. Other errors are temporary: try
  // again later.
  absl::StatusOr<v1alpha1::IdentifyResponse> Identify(const v1alpha1::IdentifyRequest& request,
                                                      const std::string& peer);

  // The authorities that agents must trust (MUSTER_COORDINATOR_CA).
  const std::string& authority_pem() const { return authority_.bundle_pem(); }
  // The key and certificate to serve with. ServingCertificate() renews them once two thirds of
  // their life are over, and then raises the generation.
  struct Serving {
    IssuedKey issued;
    int64_t generation = 0;
  };
  absl::StatusOr<Serving> ServingCertificate();
  // The expiry of the authority's certificate and of the current serving certificate. Wall times.
  absl::Time authority_not_after() const { return authority_.not_after(); }
  absl::Time serving_not_after() const;

  // The times until which a worker's streams may live.
  ValidityTable& validity() { return validity_; }
  RefusalLog& refusals() { return refusals_; }
  IdentityCounters counters() const { return refusals_.counters(); }
  const Clock& clock() const { return clock_; }

 private:
  CoordinatorIdentity(kube::Api& api, const Clock& clock, CoordinatorIdentityOptions options,
                      CertificateAuthority authority);
  // The identity that a token proves, as the URI of its certificate, and that certificate.
  struct Signed {
    std::string uri;
    absl::StatusOr<std::string> certificate;
  };
  absl::StatusOr<Signed> Sign(const ReviewedPod& pod, const std::string& signing_request);
  absl::StatusOr<v1alpha1::IdentifyResponse> Prove(const v1alpha1::IdentifyRequest& request);

  const Clock& clock_;
  const CoordinatorIdentityOptions options_;
  const CertificateAuthority authority_;
  TokenReviewer reviewer_;
  RefusalLog refusals_;
  ValidityTable validity_;
  mutable Mutex mu_;
  PeerQuota quota_ MUSTER_GUARDED_BY(mu_);
  Serving serving_ MUSTER_GUARDED_BY(mu_);
  absl::Time renew_serving_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();  // monotonic
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_COORDINATOR_IDENTITY_H_
