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
#include "operator/coordinator/peer_quota.h"
#include "operator/kube/api.h"
#include "operator/web/gate.h"

namespace muster::control {

// What a request needs a right to, as a SubjectAccessReview has it: {"resourceAttributes": ...} for
// the pages of one job, which whoever may get the TrainingJob may read; {"nonResourceAttributes":
// ...} with path and verb for all else. Pure.
Json AccessOf(const HttpRequest& request);

// The part of a SubjectAccessReview's spec that says who asks, from an answered TokenReview.
// kUnauthenticated: the API server does not know the token. Pure.
absl::StatusOr<Json> ReadCaller(const Json& token_review);

// For a cluster: has the API server say who the caller is (TokenReview) and whether they may
// (SubjectAccessReview). A yes is remembered for kYes, a no for kNo; what could not be asked is
// not. What is remembered is bounded, and so is how often one peer, and all of them, make it ask.
// Thread-safe; `api` and `clock` must outlive it.
class ReviewGate {
 public:
  static constexpr absl::Duration kYes = absl::Minutes(1);
  static constexpr absl::Duration kNo = absl::Seconds(10);
  static constexpr size_t kMostRemembered = 4096;
  // Questions to the API server.
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
  std::map<std::string, Known> known_ MUSTER_GUARDED_BY(mu_);  // by digest of token and question
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_REVIEW_GATE_H_
