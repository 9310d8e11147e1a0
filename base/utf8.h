#ifndef MUSTER_BASE_UTF8_H_
#define MUSTER_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace muster {

// Returns the length in bytes of the UTF-8 sequence at the front of `text` (Unicode, table 3-7); 0
// if `text` does not begin with one. Overlong forms, surrogates and code points beyond U+10FFFF are
// not UTF-8.
size_t Utf8SequenceLength(std::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_UTF8_H_
