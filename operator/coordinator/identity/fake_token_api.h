#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_FAKE_TOKEN_API_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_FAKE_TOKEN_API_H_

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {

// A fake for tests: an Api over another one that also issues and reviews tokens, which are bound to
// pods and have an audience and an expiry as on a real server, and reviews access. Thread-safe.
class FakeTokenApi final : public kube::Api {
 public:
  struct Token {
    std::string ns;
    std::string pod;  // empty: not bound to one
    std::string pod_uid;
    std::string audience = "muster.dev/coordinator";  // empty: the API server's own
    absl::Time expires = absl::InfiniteFuture();
    std::string account = "default";
    std::string node;  // that the pod is bound to; empty: the server names none
  };

  // `api` and `clock` must outlive it.
  FakeTokenApi(kube::Api& api, const Clock& clock) : api_(api), clock_(clock) {}

  std::string Issue(const Token& token) {
    MutexLock lock(mu_);
    const std::string text = absl::StrCat("token-", tokens_.size() + 1);
    tokens_[text] = token;
    return text;
  }
  // Invalidates a token, as the server does when its pod is deleted.
  void Revoke(const std::string& text) {
    MutexLock lock(mu_);
    tokens_.erase(text);
  }
  // Allows `access`, a SubjectAccessReview's spec without its user, to `user`.
  void Allow(const std::string& user, const Json& access) {
    MutexLock lock(mu_);
    allowed_.insert(user + DumpJson(access));
  }
  // Makes every later review fail with `status`, until a call with OK.
  void FailReviews(const absl::Status& status) {
    MutexLock lock(mu_);
    failure_ = status;
  }
  int reviews() const {
    MutexLock lock(mu_);
    return reviews_;
  }

  absl::StatusOr<Json> Create(const kube::ResourceType& type, const Json& object,
                              const kube::CallOptions& call) override {
    if (type == kube::kTokenReviews) return Review(object);
    if (type == kube::kSubjectAccessReviews) return ReviewAccess(object);
    return api_.Create(type, object, call);
  }

  absl::StatusOr<Json> Get(const kube::ResourceType& type, const kube::ObjectKey& key,
                           const kube::CallOptions& call) override {
    return api_.Get(type, key, call);
  }
  absl::StatusOr<kube::ObjectList> List(const kube::ResourceType& type,
                                        const kube::ListOptions& options,
                                        const kube::CallOptions& call) override {
    return api_.List(type, options, call);
  }
  absl::StatusOr<std::unique_ptr<kube::Watcher>> Watch(const kube::ResourceType& type,
                                                       const kube::WatchOptions& options,
                                                       const kube::CallOptions& call) override {
    return api_.Watch(type, options, call);
  }
  absl::StatusOr<Json> CreateSubresource(const kube::ResourceType& type, const kube::ObjectKey& key,
                                         const std::string& subresource, const Json& object,
                                         const kube::CallOptions& call) override {
    if (type == kube::kServiceAccounts && subresource == "token") return Request(key, object);
    return api_.CreateSubresource(type, key, subresource, object, call);
  }
  absl::StatusOr<Json> Update(const kube::ResourceType& type, const Json& object,
                              const kube::CallOptions& call) override {
    return api_.Update(type, object, call);
  }
  absl::StatusOr<Json> UpdateStatus(const kube::ResourceType& type, const Json& object,
                                    const kube::CallOptions& call) override {
    return api_.UpdateStatus(type, object, call);
  }
  absl::StatusOr<Json> Patch(const kube::ResourceType& type, const kube::ObjectKey& key,
                             const Json& patch, const kube::Preconditions& preconditions,
                             const kube::CallOptions& call) override {
    return api_.Patch(type, key, patch, preconditions, call);
  }
  absl::Status Delete(const kube::ResourceType& type, const kube::ObjectKey& key,
                      const kube::DeleteOptions& options, const kube::CallOptions& call) override {
    return api_.Delete(type, key, options, call);
  }
  absl::Status Bind(const kube::Binding& binding, const kube::CallOptions& call) override {
    return api_.Bind(binding, call);
  }

 private:
  absl::StatusOr<Json> Request(const kube::ObjectKey& account, const Json& request) {
    Token token{account.name_space, kube::StringAt(request, {"spec", "boundObjectRef", "name"}),
                kube::StringAt(request, {"spec", "boundObjectRef", "uid"})};
    token.audience = request["spec"]["audiences"][0];
    token.expires =
        clock_.Wall() + absl::Seconds(request["spec"]["expirationSeconds"].get<int64_t>());
    Json answer = request;
    answer["status"] = {{"token", Issue(token)},
                        {"expirationTimestamp", kube::FormatTime(token.expires)}};
    return answer;
  }
  // The error texts are those of a real server.
  absl::StatusOr<Json> Review(const Json& review) {
    MutexLock lock(mu_);
    ++reviews_;
    if (!failure_.ok()) return failure_;
    Json answer = review;
    const auto token = tokens_.find(kube::StringAt(review, {"spec", "token"}));
    const auto refuse = [&](const std::string& why) {
      answer["status"] = {{"user", Json::object()},
                          {"error", "[invalid bearer token, " + why + "]"}};
      return answer;
    };
    if (token == tokens_.end()) return refuse("service account token has been invalidated");
    const Token& known = token->second;
    if (clock_.Wall() >= known.expires) return refuse("service account token has expired");
    const Json* const audiences = kube::Find(review, {"spec", "audiences"});
    const std::string wanted = audiences == nullptr ? "" : audiences->front().get<std::string>();
    if (known.audience != wanted) {
      return refuse(absl::StrCat("token audiences [\"", known.audience,
                                 "\"] is invalid for the target audiences [\"", wanted, "\"]"));
    }
    Json extra = Json::object();
    if (!known.pod.empty()) {
      extra["authentication.kubernetes.io/pod-name"] = {known.pod};
      extra["authentication.kubernetes.io/pod-uid"] = {known.pod_uid};
    }
    if (!known.node.empty()) extra["authentication.kubernetes.io/node-name"] = {known.node};
    answer["status"] = {
        {"authenticated", true},
        {"audiences", {wanted}},
        {"user",
         {{"username", absl::StrCat("system:serviceaccount:", known.ns, ":", known.account)},
          {"extra", extra}}}};
    return answer;
  }

  absl::StatusOr<Json> ReviewAccess(const Json& review) {
    MutexLock lock(mu_);
    ++reviews_;
    if (!failure_.ok()) return failure_;
    Json answer = review;
    Json access = review["spec"];
    for (const char* who : {"user", "uid", "groups", "extra"}) access.erase(who);
    const std::string user = kube::StringAt(review, {"spec", "user"});
    answer["status"] = {{"allowed", allowed_.contains(user + DumpJson(access))}};
    return answer;
  }

  kube::Api& api_;
  const Clock& clock_;
  mutable Mutex mu_;
  std::map<std::string, Token> tokens_ MUSTER_GUARDED_BY(mu_);
  std::set<std::string> allowed_ MUSTER_GUARDED_BY(mu_);
  absl::Status failure_ MUSTER_GUARDED_BY(mu_);
  int reviews_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_FAKE_TOKEN_API_H_
