#ifndef MUSTER_BASE_OBJECT_STORE_CREDENTIALS_ANSWERS_H_
#define MUSTER_BASE_OBJECT_STORE_CREDENTIALS_ANSWERS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/object_store/credentials.h"
#include "base/object_store/http_transport.h"

namespace muster {

// Read what the sources of keys say, which is not trusted. Keys come out in plain characters, as
// they must stand in headers. Unavailable: the same question may be answered soon;
// PermissionDenied: the source gives no keys. No error has a key in it.

// Reads the answer of STS to AssumeRoleWithWebIdentity.
absl::StatusOr<ExpiringCredentials> ReadStsAnswer(const HttpAnswer& answer);
// Reads the answer of an agent of ECS or EKS.
absl::StatusOr<ExpiringCredentials> ReadAgentAnswer(const HttpAnswer& answer);
// Reads the section `profile` of a file in the format of ~/.aws/credentials.
absl::StatusOr<S3Credentials> ReadCredentialsFile(std::string_view text,
                                                  const std::string& profile);
// Returns a token as it is sent, without white space at its ends. InvalidArgument if it is empty or
// has characters that no token has.
absl::StatusOr<std::string> ReadToken(std::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_CREDENTIALS_ANSWERS_H_
