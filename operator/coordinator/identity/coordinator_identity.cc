#include "operator/coordinator/identity/coordinator_identity.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/coordinator/identity/authority_secret.h"

namespace muster::control {

absl::StatusOr<std::unique_ptr<CoordinatorIdentity>> CoordinatorIdentity::Create(
    kube::Api& api, const Clock& clock, CoordinatorIdentityOptions options) {
  MUSTER_ASSIGN_OR_RETURN(CertificateAuthority authority,
                          LoadOrCreateAuthority(api, options.operator_namespace, clock.Wall()));
  auto identity = std::unique_ptr<CoordinatorIdentity>(
      new CoordinatorIdentity(api, clock, std::move(options), std::move(authority)));
  MUSTER_RETURN_IF_ERROR(identity->ServingCertificate().status());
  return identity;
}

CoordinatorIdentity::CoordinatorIdentity(kube::Api& api, const Clock& clock,
                                         CoordinatorIdentityOptions options,
                                         CertificateAuthority authority)
    : clock_(clock),
      options_(std::move(options)),
      authority_(std::move(authority)),
      reviewer_(api),
      refusals_(clock),
      quota_(options_.quota) {}

absl::Status CoordinatorIdentity::Admit(size_t bytes, size_t most_bytes, const std::string& peer) {
  absl::Status status;
  if (bytes > most_bytes) {
    status = Refused(
        Refusal::kBadRequest, absl::StatusCode::kInvalidArgument,
        absl::StrCat("a certificate request may have at most ", most_bytes, " bytes, not ", bytes));
  } else {
    MutexLock lock(mu_);
    if (!quota_.Take(peer, clock_.Monotonic())) {
      status = Refused(Refusal::kTooOften, absl::StatusCode::kResourceExhausted,
                       "too many certificate requests: try again later");
    }
  }
  refusals_.Note(status, peer);
  return status;
}

absl::StatusOr<CoordinatorIdentity::Serving> CoordinatorIdentity::ServingCertificate() {
  MutexLock lock(mu_);
  const absl::Time now = clock_.Monotonic();
  if (now < renew_serving_at_) return serving_;
  MUSTER_ASSIGN_OR_RETURN(serving_.issued,
                          authority_.IssueServer(clock_.Wall(), options_.server_lifetime));
  ++serving_.generation;
  renew_serving_at_ = now + options_.server_lifetime * 2 / 3;
  return serving_;
}

absl::Time CoordinatorIdentity::serving_not_after() const {
  MutexLock lock(mu_);
  return serving_.issued.not_after;
}

absl::StatusOr<CoordinatorIdentity::Signed> CoordinatorIdentity::Sign(
    const ReviewedPod& pod, const std::string& signing_request) {
  const absl::Time now = clock_.Wall();
  std::optional<NodeIdentity> node;
  if (options_.find_node) {
    MUSTER_ASSIGN_OR_RETURN(node, options_.find_node(pod));
  }
  if (node.has_value()) {
    return Signed{ToUri(*node),
                  authority_.SignNode(*node, signing_request, now, options_.worker_lifetime)};
  }
  MUSTER_ASSIGN_OR_RETURN(const PeerIdentity worker, options_.find_worker(pod));
  return Signed{ToUri(worker),
                authority_.SignWorker(worker, signing_request, now, options_.worker_lifetime)};
}

absl::StatusOr<v1alpha1::IdentifyResponse> CoordinatorIdentity::Prove(
    const v1alpha1::IdentifyRequest& request) {
  MUSTER_ASSIGN_OR_RETURN(const ReviewedPod pod, reviewer_.Review(request.token()));
  MUSTER_ASSIGN_OR_RETURN(Signed made, Sign(pod, request.signing_request()));
  if (absl::IsInvalidArgument(made.certificate.status())) {
    return Refused(Refusal::kBadRequest, absl::StatusCode::kInvalidArgument,
                   std::string(made.certificate.status().message()));
  }
  if (!made.certificate.ok()) return made.certificate.status();
  validity_.Extend(made.uri, clock_.Monotonic() + options_.worker_lifetime);
  refusals_.NoteSigned();
  MUSTER_LOG(DEBUG, "certificate signed", {"for", made.uri});
  v1alpha1::IdentifyResponse response;
  response.set_certificate(*std::move(made.certificate));
  response.set_lifetime_seconds(absl::ToDoubleSeconds(options_.worker_lifetime));
  return response;
}

absl::StatusOr<v1alpha1::IdentifyResponse> CoordinatorIdentity::Identify(
    const v1alpha1::IdentifyRequest& request, const std::string& peer) {
  absl::StatusOr<v1alpha1::IdentifyResponse> response = Prove(request);
  if (!response.ok()) refusals_.Note(response.status(), peer);
  return response;
}

}  // namespace muster::control
