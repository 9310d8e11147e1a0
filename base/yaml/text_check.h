#ifndef MUSTER_BASE_YAML_TEXT_CHECK_H_
#define MUSTER_BASE_YAML_TEXT_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace muster {

// The first byte that no UTF-8 text has: part of no valid sequence, or a control character other
// than tab, line feed and carriage return.
struct TextFault {
  size_t offset = 0;
  int line = 1;  // counts from 1
  uint8_t byte = 0;
};

// Nothing when all of it is text. Thread-safe.
std::optional<TextFault> FindTextFault(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_YAML_TEXT_CHECK_H_
