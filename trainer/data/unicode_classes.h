#ifndef MUSTER_TRAINER_DATA_UNICODE_CLASSES_H_
#define MUSTER_TRAINER_DATA_UNICODE_CLASSES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::trainer {

// Pure functions on UTF-8 and on the character classes that tokenizers' patterns name.

enum class CharacterClass : uint8_t { kOther, kLetter, kNumber, kSpace };

// Returns the class of \p{L}, \p{N} or \s (White_Space); kOther for all else.
CharacterClass ClassOf(char32_t code_point);

struct CodePoint {
  char32_t value = 0;
  int bytes = 1;
  bool valid = true;  // false: one byte that starts no well-formed sequence
};

// Returns the code point at text[at]; requires at < text.size(). Overlong forms, surrogates and
// values above U+10FFFF are not well-formed.
CodePoint DecodeAt(std::string_view text, size_t at);

// Returns the offset of the first byte that is not well-formed UTF-8.
std::optional<size_t> FirstInvalidUtf8(std::string_view text);

void AppendUtf8(char32_t code_point, std::string& out);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_UNICODE_CLASSES_H_
