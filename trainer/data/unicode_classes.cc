#include "trainer/data/unicode_classes.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

namespace muster::trainer {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

#include "trainer/data/unicode_classes_table.inc"

constexpr Range kSpaces[] = {{0x9, 0xD},       {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                             {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                             {0x205F, 0x205F}, {0x3000, 0x3000}};

template <size_t N>
bool Contains(const Range (&ranges)[N], char32_t value) {
  const Range* after = std::upper_bound(std::begin(ranges), std::end(ranges), value,
                                        [](char32_t v, const Range& r) { return v < r.first; });
  return after != std::begin(ranges) && value <= std::prev(after)->last;
}

CharacterClass Search(char32_t value) {
  if (Contains(kSpaces, value)) return CharacterClass::kSpace;
  if (Contains(kLetters, value)) return CharacterClass::kLetter;
  if (Contains(kNumbers, value)) return CharacterClass::kNumber;
  return CharacterClass::kOther;
}

constexpr char32_t kDirect = 0x800;

const std::vector<CharacterClass>& DirectTable() {
  static const std::vector<CharacterClass>* const table = [] {
    auto* made = new std::vector<CharacterClass>(kDirect);
    for (char32_t value = 0; value < kDirect; ++value) (*made)[value] = Search(value);
    return made;
  }();
  return *table;
}

bool IsContinuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

CharacterClass ClassOf(char32_t code_point) {
  return code_point < kDirect ? DirectTable()[code_point] : Search(code_point);
}

CodePoint DecodeAt(std::string_view text, size_t at) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data()) + at;
  const size_t left = text.size() - at;
  const unsigned char lead = bytes[0];
  const CodePoint bad{lead, 1, false};
  if (lead < 0x80) return {lead, 1, true};
  const int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || left < static_cast<size_t>(length)) return bad;
  char32_t value = lead & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if (!IsContinuation(bytes[i])) return bad;
    value = (value << 6) | (bytes[i] & 0x3F);
  }
  const char32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return bad;
  return {value, length, true};
}

std::optional<size_t> FirstInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight;
    if (text.size() - at >= 8) {
      std::memcpy(&eight, text.data() + at, 8);
      if ((eight & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const CodePoint point = DecodeAt(text, at);
    if (!point.valid) return at;
    at += static_cast<size_t>(point.bytes);
  }
  return std::nullopt;
}

void AppendUtf8(char32_t value, std::string& out) {
  if (value < 0x80) {
    out += static_cast<char>(value);
  } else if (value < 0x800) {
    out += static_cast<char>(0xC0 | (value >> 6));
    out += static_cast<char>(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    out += static_cast<char>(0xE0 | (value >> 12));
    out += static_cast<char>(0x80 | ((value >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (value & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (value >> 18));
    out += static_cast<char>(0x80 | ((value >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((value >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (value & 0x3F));
  }
}

}  // namespace muster::trainer
