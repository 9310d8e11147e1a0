#ifndef MUSTER_BASE_JSON_H_
#define MUSTER_BASE_JSON_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace muster {

// The JSON document type. Keys are sorted, so equal documents are dumped to equal bytes.
using Json = nlohmann::json;

// Parses untrusted bytes. Rejects invalid UTF-8, trailing text, more than `max_bytes` bytes and
// nesting deeper than 128, with the byte offset in the message. Never throws. If an object has a
// key twice, the last one wins.
absl::StatusOr<Json> ParseJson(std::string_view text, size_t max_bytes = size_t{64} << 20);

// Like ParseJson, but refuses an object that has a key twice. For documents that all readers must
// understand alike: models, tokenizers, checkpoints.
absl::StatusOr<Json> ParseUniqueJson(std::string_view text, size_t max_bytes = size_t{64} << 20);

// Serializes without throwing: invalid UTF-8 in strings is replaced by U+FFFD.
std::string DumpJson(const Json& json, int indent = -1);

}  // namespace muster

#endif  // MUSTER_BASE_JSON_H_
