#ifndef MUSTER_BASE_YAML_TEXT_CHECK_H_
#define MUSTER_BASE_YAML_TEXT_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace muster {

// The first byte that cannot be UTF-8 text: it is part of no valid sequence, or is a control
// character other than tab, line feed and carriage return.
struct TextFault {
  size_t offset = 0;
  int line = 1;  // counts from 1
  uint8_t byte = 0;
};

// Returns nullopt if all of `text` is such text. Thread-safe.
std::optional<TextFault> FindTextFault(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_YAML_TEXT_CHECK_H_
