#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_TOKEN_REVIEWER_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_TOKEN_REVIEWER_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/api.h"

namespace muster::control {

// The audience of worker pods' tokens, which are of no use at the API server.
inline constexpr char kCoordinatorAudience[] = "muster.dev/coordinator";

// The pod to which a token is bound, as the API server vouches for it.
struct ReviewedPod {
  std::string ns;
  std::string name;
  std::string uid;
  std::string service_account;
  // The node that the pod is bound to; empty from servers before Kubernetes 1.30, and for a token
  // that was issued before the pod had one.
  std::string node;
};

// Asks the API server for the owner of a token (authentication.k8s.io/v1 TokenReview). Refusals
// (see refusals.h): kTokenRejected, kWrongAudience, kUnboundToken, and kBadRequest for a token of a
// bad size; other errors mean that the review could not be made. Thread-safe; blocks for one API
// call.
class TokenReviewer {
 public:
  static constexpr size_t kMaxTokenBytes = 16 << 10;

  explicit TokenReviewer(kube::Api& api) : api_(api) {}

  absl::StatusOr<ReviewedPod> Review(const std::string& token);

 private:
  kube::Api& api_;
};

// Returns the answered TokenReview (authentication.k8s.io/v1) of a token made for `audience`; empty
// means the API server itself. Blocks for one API call.
absl::StatusOr<Json> RequestTokenReview(kube::Api& api, const std::string& token,
                                        const std::string& audience);

// Returns the pod in an answered TokenReview, or the refusal. Pure.
absl::StatusOr<ReviewedPod> ReadTokenReview(const Json& review);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_TOKEN_REVIEWER_H_
