#ifndef MUSTER_BASE_OBJECT_STORE_CREDENTIALS_H_
#define MUSTER_BASE_OBJECT_STORE_CREDENTIALS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/object_store/aws_signature.h"

namespace muster {

// Keys, and the time (of the wall clock) from which a store refuses them.
struct ExpiringCredentials {
  S3Credentials keys;
  absl::Time expires = absl::InfiniteFuture();
};

// The seam to what hands out the keys of an object store.
class CredentialsSource {
 public:
  virtual ~CredentialsSource() = default;
  // Asks for keys that are good now. Unavailable if the same may succeed soon. No error has a key
  // or a token in it. One call at a time; may wait for the network.
  virtual absl::StatusOr<ExpiringCredentials> Fetch() = 0;
  // Returns what it is and which variables name it, for errors and logs.
  virtual std::string Describe() const = 0;
};

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_CREDENTIALS_H_
