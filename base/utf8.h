#ifndef MUSTER_BASE_UTF8_H_
#define MUSTER_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/strings/string_view.h"

namespace muster {

// Returns the length in bytes of the UTF-8 sequence at the front of `text` (Unicode, table 3-7); 0
// if `text` does not begin with one. Overlong forms, surrogates and code points beyond U+10FFFF are
// not UTF-8.
size_t Utf8SequenceLength(std::string_view text);

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

#endif  // MUSTER_BASE_UTF8_H_
