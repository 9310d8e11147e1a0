#ifndef MUSTER_BASE_OBJECT_STORE_AWS_SIGNATURE_H_
#define MUSTER_BASE_OBJECT_STORE_AWS_SIGNATURE_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace muster {

// Access keys as they stand in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN,
// which is empty unless the keys are temporary.
struct S3Credentials {
  std::string key_id;
  std::string secret;
  std::string session_token;
};

struct RequestToSign {
  std::string method;
  std::string path;                          // encoded by PercentEncode, but for slashes
  std::map<std::string, std::string> query;  // not encoded
  // The signed ones, names in lower case; the host and every x-amz-… header must be among them.
  std::map<std::string, std::string> headers;
  std::string body_sha256;  // Sha256Hex of the body
};

// Returns the value of the header Authorization: AWS Signature Version 4 with the body's checksum,
// by "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk"
// of the Amazon S3 API Reference. `time` must be the one in the header x-amz-date.
std::string AuthorizationHeader(const RequestToSign& request, const S3Credentials& credentials,
                                std::string_view region, absl::Time time);

// Formats the value of the header x-amz-date.
std::string AmzDate(absl::Time time);

// Returns the query as it is signed and sent: sorted and encoded.
std::string CanonicalQuery(const std::map<std::string, std::string>& query);

std::string Sha256Hex(std::string_view bytes);

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_AWS_SIGNATURE_H_
