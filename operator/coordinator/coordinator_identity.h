#ifndef MUSTER_OPERATOR_COORDINATOR_COORDINATOR_IDENTITY_H_
#define MUSTER_OPERATOR_COORDINATOR_COORDINATOR_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/coordinator/certificate_authority.h"
#include "operator/coordinator/peer_identity.h"
#include "operator/coordinator/peer_quota.h"
#include "operator/coordinator/refusals.h"
#include "operator/coordinator/token_reviewer.h"
#include "operator/coordinator/validity_table.h"
#include "operator/kube/api.h"
#include "proto/muster/v1alpha1/coordinator.pb.h"

namespace muster::control {

// The worker that a pod is, if that pod is a job's current incarnation. Refusals: kReplaced,
// kNotAWorker. kUnavailable: the pod is not known yet, ask again. Thread-safe; must not block.
using FindWorker = std::function<absl::StatusOr<PeerIdentity>(const ReviewedPod& pod)>;

struct CoordinatorIdentityOptions {
  // Where the Secret `muster-coordinator-ca` is.
  std::string operator_namespace;
  FindWorker find_worker;
  // Of certificates. Agents renew theirs at two thirds of it, this replica its own likewise.
  absl::Duration worker_lifetime = absl::Hours(1);
  absl::Duration server_lifetime = absl::Hours(24);
  // How often peers that have not proven who they are may ask. Thousands of agents may come from
  // one address, where the network translates them.
  QuotaLimits quota = {.peer_rate = 50, .peer_burst = 2000, .rate = 200, .burst = 8000};
};

// How this replica proves itself to agents and agents prove themselves to it: the certificate
// authority, this replica's serving certificate, and Identify. Thread-safe. `api` and `clock` must
// outlive it.
class CoordinatorIdentity {
 public:
  // Reads the authority from its Secret, or makes it, whichever replica comes first.
  static absl::StatusOr<std::unique_ptr<CoordinatorIdentity>> Create(
      kube::Api& api, const Clock& clock, CoordinatorIdentityOptions options);

  // Whether a message of `peer`, who has not proven anything, is to be looked at. Refusals are
  // counted: kBadRequest, kTooOften.
  absl::Status Admit(size_t bytes, size_t most_bytes, const std::string& peer);
  // A certificate for the worker whose token this is. Blocks for a TokenReview. Refusals are
  // counted, and logged under `peer`. Other errors: try again later.
  absl::StatusOr<v1alpha1::IdentifyResponse> Identify(const v1alpha1::IdentifyRequest& request,
                                                      const std::string& peer);

  // What agents must trust (MUSTER_COORDINATOR_CA).
  const std::string& authority_pem() const { return authority_.bundle_pem(); }
  // Key and certificate to serve with, renewed here once two thirds of its life are over. The
  // generation changes with it.
  struct Serving {
    IssuedKey issued;
    int64_t generation = 0;
  };
  absl::StatusOr<Serving> ServingCertificate();
  // When the authority's certificate, and the one served with now, expire. Wall times.
  absl::Time authority_not_after() const { return authority_.not_after(); }
  absl::Time serving_not_after() const;

  // How long the streams of a worker may live; see ValidityTable.
  ValidityTable& validity() { return validity_; }
  RefusalLog& refusals() { return refusals_; }
  // Exported as metrics.
  IdentityCounters counters() const { return refusals_.counters(); }
  const Clock& clock() const { return clock_; }

 private:
  CoordinatorIdentity(kube::Api& api, const Clock& clock, CoordinatorIdentityOptions options,
                      CertificateAuthority authority);
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

#endif  // MUSTER_OPERATOR_COORDINATOR_COORDINATOR_IDENTITY_H_
