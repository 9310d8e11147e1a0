#include "agent/worker/stream/agent_identity.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxTokenBytes = 16 << 10;

}  // namespace

AgentIdentity::AgentIdentity(IdentitySources sources, Files& files)
    : sources_(std::move(sources)), files_(files) {}

absl::StatusOr<v1alpha1::IdentifyRequest> AgentIdentity::NewRequest() {
  MUSTER_ASSIGN_OR_RETURN(const std::string token,
                          ReadFile(files_, sources_.token_path, kMaxTokenBytes));
  MUSTER_ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::Generate());
  v1alpha1::IdentifyRequest request;
  request.set_token(std::string(absl::StripAsciiWhitespace(token)));
  MUSTER_ASSIGN_OR_RETURN(*request.mutable_signing_request(),
                          MakeSigningRequest(key, "muster worker"));
  asked_for_ = std::move(key);
  return request;
}

absl::Status AgentIdentity::Accept(const v1alpha1::IdentifyResponse& response, absl::Time asked) {
  if (!asked_for_.has_value() || !KeyMatches(*asked_for_, response.certificate())) {
    return absl::InvalidArgumentError("the coordinator's certificate is not for this agent's key");
  }
  const absl::Duration lifetime = absl::Seconds(response.lifetime_seconds());
  if (lifetime <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("the coordinator's certificate lives for ",
                                                   response.lifetime_seconds(), " s"));
  }
  current_ = {asked_for_->ToPem(), response.certificate()};
  asked_for_.reset();
  renew_at_ = asked + lifetime * 2 / 3;
  expires_ = asked + lifetime;
  return absl::OkStatus();
}

void AgentIdentity::Drop() {
  current_ = {};
  renew_at_ = expires_ = absl::InfinitePast();
}

}  // namespace muster::agent
