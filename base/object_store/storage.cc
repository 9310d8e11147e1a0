#include "base/object_store/storage.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/object_store/credentials_cache.h"
#include "base/object_store/credentials_choice.h"
#include "base/object_store/credentials_source.h"
#include "base/object_store/curl_transport.h"
#include "base/object_store/object_uri.h"
#include "base/object_store/s3_client.h"
#include "base/object_store/s3_files.h"
#include "base/status_macros.h"

namespace muster {
namespace {

Environment AwsVariables() {
  Environment out;
  for (const char* name :
       {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_SESSION_NAME", "AWS_ENDPOINT_URL_STS",
        "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN"}) {
    if (std::string value = EnvironmentVariable(name); !value.empty()) out[name] = std::move(value);
  }
  return out;
}

absl::StatusOr<std::shared_ptr<CredentialsCache>> OpenCredentials(const std::string& region) {
  MUSTER_ASSIGN_OR_RETURN(const CredentialsChoice choice,
                          ChooseCredentials(AwsVariables(), region));
  // An agent has an address of this machine, which no proxy knows.
  const bool proxies = !std::holds_alternative<ContainerAgent>(choice);
  auto transport = std::make_unique<CurlTransport>(
      CurlOptions{.authorities = EnvironmentVariable("AWS_CA_BUNDLE"), .proxies = proxies});
  auto source = MakeCredentialsSource(choice, std::move(transport), FileSystem());
  return std::make_shared<CredentialsCache>(std::move(source), Clock::Real());
}

std::string FirstOf(const char* first, const char* second) {
  std::string value = EnvironmentVariable(first);
  return value.empty() ? EnvironmentVariable(second) : value;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Files>> OpenObjectStore(const StoreAddress& address) {
  S3Options options;
  options.endpoint = std::string(absl::StripSuffix(address.endpoint, "/"));
  if (!address.region.empty()) options.region = address.region;
  MUSTER_ASSIGN_OR_RETURN(options.credentials, OpenCredentials(address.region));
  auto transport = std::make_unique<CurlTransport>(
      CurlOptions{.authorities = EnvironmentVariable("AWS_CA_BUNDLE")});
  auto client = std::make_unique<S3Client>(std::move(options), std::move(transport), Clock::Real(),
                                           [](absl::Duration wait) { absl::SleepFor(wait); });
  return std::make_unique<S3Files>(std::move(client), S3Files::Options());
}

absl::StatusOr<std::shared_ptr<Files>> OpenStorage(const std::string& uri,
                                                   const StoreAddress& address) {
  // The file system lives forever.
  if (!IsObjectUri(uri)) return std::shared_ptr<Files>(&FileSystem(), [](Files*) {});
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<Files> store, OpenObjectStore(address));
  return std::shared_ptr<Files>(std::move(store));
}

StoreAddress AddressFromEnvironment() {
  return {FirstOf("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
          FirstOf("AWS_REGION", "AWS_DEFAULT_REGION")};
}

}  // namespace muster
