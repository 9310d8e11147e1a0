#ifndef MUSTER_BASE_OBJECT_STORE_STORAGE_H_
#define MUSTER_BASE_OBJECT_STORE_STORAGE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/files/files.h"

namespace muster {

// The store of checkpoint.s3.
struct StoreAddress {
  std::string endpoint;  // empty: AWS's for the region
  std::string region;    // empty: us-east-1
};

// Opens the S3-compatible store at `address`, with keys from the source that this process's
// environment names; see ChooseCredentials(). AWS_CA_BUNDLE names a file of certificate authorities
// to use instead of the machine's. Nothing is sent yet. FailedPrecondition names the variable that
// is missing.
absl::StatusOr<std::unique_ptr<Files>> OpenObjectStore(const StoreAddress& address);

// Opens what keeps the files of `uri`: the store at `address` for s3://, else the file system.
absl::StatusOr<std::shared_ptr<Files>> OpenStorage(const std::string& uri,
                                                   const StoreAddress& address);

// Returns the address that AWS's own tools would use: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, and
// AWS_REGION or AWS_DEFAULT_REGION.
StoreAddress AddressFromEnvironment();

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_STORAGE_H_
