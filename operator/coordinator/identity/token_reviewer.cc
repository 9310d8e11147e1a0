#include "operator/coordinator/identity/token_reviewer.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

constexpr char kUserPrefix[] = "system:serviceaccount:";
constexpr char kPodName[] = "authentication.kubernetes.io/pod-name";
constexpr char kPodUid[] = "authentication.kubernetes.io/pod-uid";
constexpr char kNodeName[] = "authentication.kubernetes.io/node-name";

absl::Status NoToken(Refusal reason, const std::string& message) {
  return Refused(reason, absl::StatusCode::kUnauthenticated, message);
}

bool HasOurAudience(const Json& status) {
  const Json* audiences = kube::Find(status, {"audiences"});
  if (audiences == nullptr || !audiences->is_array()) return false;
  for (const Json& audience : *audiences) {
    if (audience.is_string() && audience == kCoordinatorAudience) return true;
  }
  return false;
}

// Returns the only value of an `extra` field; empty if the field has no value or several.
std::string ExtraOf(const Json& status, const char* field) {
  const Json* values = kube::Find(status, {"user", "extra", field});
  if (values == nullptr || !values->is_array() || values->size() != 1) return "";
  return values->front().is_string() ? values->front().get<std::string>() : "";
}

}  // namespace

absl::StatusOr<ReviewedPod> ReadTokenReview(const Json& review) {
  const Json* status = kube::Find(review, {"status"});
  const Json* authenticated = status == nullptr ? nullptr : kube::Find(*status, {"authenticated"});
  if (authenticated == nullptr || *authenticated != true) {
    const std::string why = kube::StringAt(review, {"status", "error"});
    // The error's text is the server's only way to tell the two apart.
    const bool audience = absl::StrContains(why, "is invalid for the target audiences");
    return NoToken(
        audience ? Refusal::kWrongAudience : Refusal::kTokenRejected,
        absl::StrCat("the API server does not accept the token", why.empty() ? "" : ": ", why));
  }
  // A server without support for audiences would accept any token.
  if (!HasOurAudience(*status)) {
    return NoToken(Refusal::kWrongAudience,
                   absl::StrCat("the token is not for ", kCoordinatorAudience));
  }
  const std::string user = kube::StringAt(*status, {"user", "username"});
  ReviewedPod pod;
  if (absl::StartsWith(user, kUserPrefix)) {
    const std::pair<std::string, std::string> account =
        absl::StrSplit(user.substr(sizeof(kUserPrefix) - 1), absl::MaxSplits(':', 1));
    pod.ns = account.first;
    pod.service_account = account.second;
  }
  pod.name = ExtraOf(*status, kPodName);
  pod.uid = ExtraOf(*status, kPodUid);
  pod.node = ExtraOf(*status, kNodeName);
  if (pod.ns.empty() || pod.name.empty() || pod.uid.empty()) {
    return NoToken(Refusal::kUnboundToken,
                   absl::StrCat("the token of ", user.empty() ? "an unnamed user" : user,
                                " is not bound to a pod"));
  }
  return pod;
}

absl::StatusOr<Json> RequestTokenReview(kube::Api& api, const std::string& token,
                                        const std::string& audience) {
  Json review = kube::NewObject(kube::kTokenReviews, {"", ""});
  review["spec"]["token"] = token;
  if (!audience.empty()) review["spec"]["audiences"] = Json::array({audience});
  absl::StatusOr<Json> answer = api.Create(kube::kTokenReviews, review);
  if (!answer.ok()) return kube::Annotate(answer.status(), "the API server did not review a token");
  return answer;
}

absl::StatusOr<ReviewedPod> TokenReviewer::Review(const std::string& token) {
  if (token.empty() || token.size() > kMaxTokenBytes) {
    return Refused(
        Refusal::kBadRequest, absl::StatusCode::kInvalidArgument,
        absl::StrCat("a token must have 1 to ", kMaxTokenBytes, " bytes, not ", token.size()));
  }
  MUSTER_ASSIGN_OR_RETURN(const Json answer, RequestTokenReview(api_, token, kCoordinatorAudience));
  return ReadTokenReview(answer);
}

}  // namespace muster::control
