#include "base/object_store/storage.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/object_store/curl_transport.h"
#include "base/object_store/object_uri.h"
#include "base/object_store/s3_client.h"
#include "base/object_store/s3_files.h"
#include "base/status_macros.h"

namespace muster {
namespace {

std::string Get(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::string> Required(const char* name) {
  std::string value = Get(name);
  if (!value.empty()) return value;
  return absl::FailedPreconditionError(
      absl::StrCat("the environment variable ", name,
                   " is missing: an s3:// uri needs the keys of its store; "
                   "on a cluster name a Secret that has them in checkpoint.s3.credentialsSecret"));
}

std::string FirstOf(const char* first, const char* second) {
  std::string value = Get(first);
  return value.empty() ? Get(second) : value;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Files>> OpenObjectStore(const StoreAddress& address) {
  S3Options options;
  options.endpoint = std::string(absl::StripSuffix(address.endpoint, "/"));
  if (!address.region.empty()) options.region = address.region;
  MUSTER_ASSIGN_OR_RETURN(options.credentials.key_id, Required("AWS_ACCESS_KEY_ID"));
  MUSTER_ASSIGN_OR_RETURN(options.credentials.secret, Required("AWS_SECRET_ACCESS_KEY"));
  options.credentials.session_token = Get("AWS_SESSION_TOKEN");
  auto transport =
      std::make_unique<CurlTransport>(CurlOptions{.authorities = Get("AWS_CA_BUNDLE")});
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
