#include "base/object_store/credentials_choice.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace muster {
namespace {

constexpr char kContainerHost[] = "http://169.254.170.2";
constexpr char kNoSource[] =
    "an s3:// uri needs the keys of its store, and the environment names no source of them; looked "
    "for, in this order: AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, AWS_WEB_IDENTITY_TOKEN_FILE "
    "with AWS_ROLE_ARN, AWS_SHARED_CREDENTIALS_FILE, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, "
    "AWS_CONTAINER_CREDENTIALS_FULL_URI; on a cluster name a Secret that has keys in "
    "checkpoint.s3.credentialsSecret, or a service account with a role in the job's template";

std::string Get(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::string FirstOf(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = Get(environment, name); !value.empty()) return value;
  }
  return "";
}

using Found = absl::StatusOr<std::optional<CredentialsChoice>>;

absl::Status Half(const char* there, const char* missing) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the environment variable ", missing, " is missing: ", there, " is nothing without it"));
}

Found Keys(const Environment& environment) {
  S3Credentials keys = {Get(environment, "AWS_ACCESS_KEY_ID"),
                        Get(environment, "AWS_SECRET_ACCESS_KEY"),
                        Get(environment, "AWS_SESSION_TOKEN")};
  if (keys.key_id.empty() && keys.secret.empty()) return std::nullopt;
  if (keys.secret.empty()) return Half("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
  if (keys.key_id.empty()) return Half("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID");
  return CredentialsChoice(std::move(keys));
}

std::string StsEndpoint(const Environment& environment, const std::string& store_region) {
  std::string own = FirstOf(environment, {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"});
  if (!own.empty()) return std::string(absl::StripSuffix(own, "/"));
  std::string region = FirstOf(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (region.empty()) region = store_region.empty() ? "us-east-1" : store_region;
  const char* suffix = absl::StartsWith(region, "cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
  return absl::StrCat("https://sts.", region, suffix);
}

Found Identity(const Environment& environment, const std::string& region) {
  WebIdentity identity = {.role = Get(environment, "AWS_ROLE_ARN"),
                          .token_file = Get(environment, "AWS_WEB_IDENTITY_TOKEN_FILE"),
                          .session_name = Get(environment, "AWS_ROLE_SESSION_NAME")};
  // AWS_ROLE_ARN alone has other uses, too.
  if (identity.token_file.empty()) return std::nullopt;
  if (identity.role.empty()) return Half("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN");
  identity.endpoint = StsEndpoint(environment, region);
  return CredentialsChoice(std::move(identity));
}

Found SharedFile(const Environment& environment) {
  CredentialsFile file = {Get(environment, "AWS_SHARED_CREDENTIALS_FILE"),
                          Get(environment, "AWS_PROFILE")};
  if (file.path.empty()) return std::nullopt;
  if (file.profile.empty()) file.profile = "default";
  return CredentialsChoice(std::move(file));
}

// A token is sent in the clear only to this machine and to the agents' own addresses.
bool MayBeAsked(const std::string& url) {
  if (absl::StartsWith(url, "https://")) return true;
  if (!absl::StartsWith(url, "http://")) return false;
  std::string host = url.substr(7);
  host = host.substr(0, host.find_first_of("/?#"));
  if (absl::StrContains(host, "@")) return false;
  const size_t port = host.front() == '[' ? host.find("]:") : host.find(':');
  if (port != std::string::npos) host.resize(host.front() == '[' ? port + 1 : port);
  const auto is = [&host](const char* known) { return host == known; };
  return is("localhost") || is("127.0.0.1") || is("[::1]") || is("169.254.170.2") ||
         is("169.254.170.23") || is("[fd00:ec2::23]");
}

Found Agent(const Environment& environment) {
  const std::string relative = Get(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  ContainerAgent agent;
  agent.url = relative.empty() ? Get(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
                               : absl::StrCat(kContainerHost, relative);
  if (agent.url.empty()) return std::nullopt;
  if (!MayBeAsked(agent.url)) {
    return absl::FailedPreconditionError(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https://, or with http:// and the "
        "address of this machine or of the agent of ECS (169.254.170.2) or EKS (169.254.170.23, "
        "[fd00:ec2::23]), because a token is sent to it");
  }
  agent.token_file = Get(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  agent.token = Get(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
  return CredentialsChoice(std::move(agent));
}

}  // namespace

absl::StatusOr<CredentialsChoice> ChooseCredentials(const Environment& environment,
                                                    const std::string& region) {
  Found found = Keys(environment);
  if (found.ok() && !*found) found = Identity(environment, region);
  if (found.ok() && !*found) found = SharedFile(environment);
  if (found.ok() && !*found) found = Agent(environment);
  if (!found.ok()) return found.status();
  if (!*found) return absl::FailedPreconditionError(kNoSource);
  return **std::move(found);
}

}  // namespace muster
