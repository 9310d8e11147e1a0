#ifndef MUSTER_OPERATOR_WEB_REVIEW_GATE_H_
#define MUSTER_OPERATOR_WEB_REVIEW_GATE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/coordinator/identity/peer_quota.h"
#include "operator/kube/api.h"
#include "operator/web/gate.h"
#include "operator/web/http/http_message.h"

namespace muster::control {

// Returns the right that a request needs, in the form of a SubjectAccessReview:
// {"resourceAttributes": ...} for the pages of one job, which everyone who may get the TrainingJob
// may read; {"nonResourceAttributes": ...} with path and verb for all others. Pure.
Json AccessOf(const HttpRequest& request);

// Returns the caller, in the form of a SubjectAccessReview's spec, from an answered TokenReview.
// kUnauthenticated if the API server does not accept the token. Pure.
absl::StatusOr<Json> ReadCaller(const Json& token_review);

// A gate for a cluster: the API server authenticates the caller (TokenReview) and authorizes the
// request (SubjectAccessReview). A positive answer is cached for kYes and a negative one for kNo; a
// failed call is not cached. The cache is bounded, and so is the rate of reviews, per peer and in
// total. Thread-safe; `api` and `clock` must outlive it.
class ReviewGate {
 public:
  static constexpr absl::Duration kYes = absl::Minutes(1);
  static constexpr absl::Duration kNo = absl::Seconds(10);
  static constexpr size_t kMostRemembered = 4096;
  // Limits on reviews by the API server.
  static constexpr QuotaLimits kQuota = {
      .peer_rate = 5, .peer_burst = 50, .rate = 20, .burst = 200};

  ReviewGate(kube::Api& api, const Clock& clock, QuotaLimits quota = kQuota)
      : api_(api), clock_(clock), quota_(quota) {}

  absl::Status Admit(const HttpRequest& request);

 private:
  struct Known {
    absl::Time until;
    absl::Status verdict;
    Json caller;
  };

  absl::StatusOr<Json> CallerOf(const std::string& token, const std::string& peer);
  absl::Status Ask(const Json& caller, const Json& access);
  bool Recall(const std::string& key, Known& known);
  void Remember(const std::string& key, absl::Status verdict, Json caller);
  bool MayAsk(const std::string& peer);

  kube::Api& api_;
  const Clock& clock_;
  Mutex mu_;
  PeerQuota quota_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, Known> known_
      MUSTER_GUARDED_BY(mu_);  // by digest of token and requested access
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_REVIEW_GATE_H_
