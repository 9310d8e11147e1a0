#ifndef MUSTER_BASE_OBJECT_STORE_OBJECT_URI_H_
#define MUSTER_BASE_OBJECT_STORE_OBJECT_URI_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster {

// The place of an object, or of a group of them, in an S3-compatible store: s3://bucket/key.
struct ObjectUri {
  std::string bucket;
  std::string key;  // without a slash at either end; empty: the whole bucket
};

// Returns true if `uri` means objects of a store rather than a directory.
inline bool IsObjectUri(std::string_view uri) { return uri.starts_with("s3://"); }

// InvalidArgument states what is wrong with the bucket's name or the key, without the uri itself. A
// bucket's name follows the rules of AWS for general purpose buckets. A key has no empty part, no
// "." or "..", no control character and at most 1024 bytes, which is the most that a store takes.
absl::StatusOr<ObjectUri> ParseObjectUri(std::string_view uri);

// Returns s3://bucket/key, or s3://bucket without a key.
std::string ToText(const ObjectUri& uri);

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_OBJECT_URI_H_
