#ifndef MUSTER_BASE_BYTE_TEXT_H_
#define MUSTER_BASE_BYTE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Formats a size for messages, e.g. "1.5 GiB".
std::string ByteText(int64_t bytes);

// Returns the bytes of a text such as 4Gi or 500M, as checkpoint.memory.size has it; nullopt if it
// is no such size from 1 byte on.
std::optional<int64_t> ParseBytes(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_BYTE_TEXT_H_
