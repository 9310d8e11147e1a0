#include "operator/web/review_gate.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "operator/coordinator/identity/token_reviewer.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

// Only digests are kept, not the tokens themselves.
std::string DigestOf(const std::string& token, const std::string& question) {
  return Sha256(absl::StrCat(token, "\n", question));
}

absl::Status TooOften() {
  return absl::ResourceExhaustedError("too many new callers at once: try again in a few seconds");
}

// A failed call to the API server is not the caller's error.
absl::Status ReviewFailed(const absl::Status& status, const char* what) {
  return absl::UnavailableError(
      absl::StrCat("the API server could not review ", what, ": ", status.message()));
}

}  // namespace

Json AccessOf(const HttpRequest& request) {
  const std::vector<std::string> path = SegmentsOf(request.path);
  if (path.size() >= 5 && path[0] == "api" && path[2] == "jobs" && !path[3].empty()) {
    return {{"resourceAttributes",
             {{"group", "muster.dev"},
              {"resource", "trainingjobs"},
              {"namespace", path[3]},
              {"name", path[4]},
              {"verb", "get"}}}};
  }
  const std::string verb = request.method == "HEAD" ? "get" : absl::AsciiStrToLower(request.method);
  return {{"nonResourceAttributes", {{"path", request.path}, {"verb", verb}}}};
}

absl::StatusOr<Json> ReadCaller(const Json& token_review) {
  const Json* const status = kube::Find(token_review, {"status"});
  const Json* authenticated = status == nullptr ? nullptr : kube::Find(*status, {"authenticated"});
  const std::string user = status == nullptr ? "" : kube::StringAt(*status, {"user", "username"});
  if (authenticated == nullptr || *authenticated != true || user.empty()) {
    const std::string why = kube::StringAt(token_review, {"status", "error"});
    return absl::UnauthenticatedError(
        absl::StrCat("the API server does not accept the token", why.empty() ? "" : ": ", why));
  }
  Json caller = {{"user", user}};
  for (const char* field : {"uid", "groups", "extra"}) {
    const Json* const value = kube::Find(*status, {"user", field});
    if (value != nullptr) caller[field] = *value;
  }
  return caller;
}

absl::Status ReviewGate::Admit(const HttpRequest& request) {
  const std::string token = BearerToken(request);
  if (token.empty()) {
    return absl::UnauthenticatedError("send a token of the cluster: Authorization: Bearer TOKEN");
  }
  const Json access = AccessOf(request);
  const std::string key = DigestOf(token, DumpJson(access));
  Known known;
  if (Recall(key, known)) return known.verdict;
  MUSTER_ASSIGN_OR_RETURN(const Json caller, CallerOf(token, request.peer));
  if (!MayAsk(request.peer)) return TooOften();
  const absl::Status verdict = Ask(caller, access);
  if (!absl::IsUnavailable(verdict)) Remember(key, verdict, nullptr);
  return verdict;
}

absl::StatusOr<Json> ReviewGate::CallerOf(const std::string& token, const std::string& peer) {
  const std::string key = DigestOf(token, "");
  Known known;
  if (Recall(key, known)) {
    if (!known.verdict.ok()) return known.verdict;
    return std::move(known.caller);
  }
  if (token.size() > TokenReviewer::kMaxTokenBytes) {
    return absl::UnauthenticatedError("the token is too long");
  }
  if (!MayAsk(peer)) return TooOften();
  const absl::StatusOr<Json> review = RequestTokenReview(api_, token, /*audience=*/"");
  if (!review.ok()) return ReviewFailed(review.status(), "the token");
  absl::StatusOr<Json> caller = ReadCaller(*review);
  Remember(key, caller.status(), caller.ok() ? *caller : Json());
  return caller;
}

absl::Status ReviewGate::Ask(const Json& caller, const Json& access) {
  Json review = kube::NewObject(kube::kSubjectAccessReviews, {"", ""});
  review["spec"] = caller;
  review["spec"].update(access);
  const absl::StatusOr<Json> answer = api_.Create(kube::kSubjectAccessReviews, review);
  if (!answer.ok()) return ReviewFailed(answer.status(), "the caller's access");
  const Json* const allowed = kube::Find(*answer, {"status", "allowed"});
  if (allowed != nullptr && *allowed == true) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(kube::StringAt(caller, {"user"}), " has no right to ", DumpJson(access)));
}

bool ReviewGate::Recall(const std::string& key, Known& known) {
  MutexLock lock(mu_);
  const auto found = known_.find(key);
  if (found == known_.end() || found->second.until <= clock_.Monotonic()) return false;
  known = found->second;
  return true;
}

void ReviewGate::Remember(const std::string& key, absl::Status verdict, Json caller) {
  MutexLock lock(mu_);
  const absl::Time now = clock_.Monotonic();
  if (known_.size() >= kMostRemembered) {
    std::erase_if(known_, [now](const auto& entry) { return entry.second.until <= now; });
    // The cache is full of valid entries: reviewing them again is the lesser evil.
    if (known_.size() >= kMostRemembered) known_.clear();
  }
  const absl::Time until = now + (verdict.ok() ? kYes : kNo);
  known_[key] = {until, std::move(verdict), std::move(caller)};
}

bool ReviewGate::MayAsk(const std::string& peer) {
  MutexLock lock(mu_);
  return quota_.Take(peer, clock_.Monotonic());
}

}  // namespace muster::control
