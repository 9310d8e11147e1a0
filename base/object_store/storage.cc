#include "base/object_store/storage.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/object_store/curl_transport.h"
#include "base/object_store/s3_client.h"
#include "base/status_macros.h"

namespace muster {
namespace {

std::string Get(const VariableLookup& variable, const char* name) {
  const char* const value = variable(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::string> Required(const VariableLookup& variable, const char* name) {
  std::string value = Get(variable, name);
  if (!value.empty()) return value;
  return absl::FailedPreconditionError(
      absl::StrCat("the environment variable ", name,
                   " is missing: an s3:// uri needs the keys of its store; "
                   "on a cluster name a Secret that has them in checkpoint.s3.credentialsSecret"));
}

std::string FirstOf(const VariableLookup& variable, const char* first, const char* second) {
  std::string value = Get(variable, first);
  return value.empty() ? Get(variable, second) : value;
}

}  // namespace

absl::StatusOr<std::unique_ptr<S3Files>> OpenObjectStore(const StoreAddress& address,
                                                         const VariableLookup& variable) {
  S3Options options;
  options.endpoint = std::string(absl::StripSuffix(address.endpoint, "/"));
  if (!address.region.empty()) options.region = address.region;
  MUSTER_ASSIGN_OR_RETURN(options.credentials.key_id, Required(variable, "AWS_ACCESS_KEY_ID"));
  MUSTER_ASSIGN_OR_RETURN(options.credentials.secret, Required(variable, "AWS_SECRET_ACCESS_KEY"));
  options.credentials.session_token = Get(variable, "AWS_SESSION_TOKEN");
  auto transport =
      std::make_unique<CurlTransport>(CurlOptions{.authorities = Get(variable, "AWS_CA_BUNDLE")});
  auto client = std::make_unique<S3Client>(std::move(options), std::move(transport), Clock::Real(),
                                           [](absl::Duration wait) { absl::SleepFor(wait); });
  return std::make_unique<S3Files>(std::move(client), S3Files::Options());
}

StoreAddress AddressFromEnvironment(const VariableLookup& variable) {
  return {FirstOf(variable, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
          FirstOf(variable, "AWS_REGION", "AWS_DEFAULT_REGION")};
}

}  // namespace muster
