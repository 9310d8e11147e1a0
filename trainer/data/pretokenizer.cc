#include "trainer/data/pretokenizer.h"

#include <unordered_map>

#include "trainer/data/unicode_classes.h"

namespace muster::trainer {
namespace {

struct Character {
  CharacterClass kind = CharacterClass::kOther;
  size_t bytes = 1;
};

Character CharacterAt(std::string_view text, size_t at) {
  const CodePoint point = DecodeAt(text, at);
  return {point.valid ? ClassOf(point.value) : CharacterClass::kOther,
          static_cast<size_t>(point.bytes)};
}

size_t ContractionAt(std::string_view text) {
  for (std::string_view suffix : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.substr(0, suffix.size()) == suffix) return suffix.size();
  }
  return 0;
}

size_t RunEnd(std::string_view text, size_t at, CharacterClass kind) {
  while (at < text.size()) {
    const Character next = CharacterAt(text, at);
    if (next.kind != kind) break;
    at += next.bytes;
  }
  return at;
}

// Matches \s+(?!\S)|\s+ : a run of spaces before a word leaves its last one to the word's own
// pattern.
size_t SpacesEnd(std::string_view text) {
  size_t at = 0, last = 0;
  while (at < text.size()) {
    const Character next = CharacterAt(text, at);
    if (next.kind != CharacterClass::kSpace) return last > 0 ? last : at;
    last = at;
    at += next.bytes;
  }
  return at;
}

size_t WordEnd(std::string_view text) {
  if (text[0] == '\'') {
    if (const size_t end = ContractionAt(text); end > 0) return end;
  }
  const size_t body = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const CharacterClass kind = CharacterAt(text, body).kind;
  if (kind != CharacterClass::kSpace) return RunEnd(text, body, kind);
  return SpacesEnd(text);
}

}  // namespace

std::string_view NextWord(std::string_view& text) {
  const std::string_view word = text.substr(0, WordEnd(text));
  text.remove_prefix(word.size());
  return word;
}

const std::array<char32_t, 256>& ByteStandIns() {
  static const auto* const table = [] {
    auto* made = new std::array<char32_t, 256>;
    char32_t next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      (*made)[static_cast<size_t>(b)] = printable ? static_cast<char32_t>(b) : next++;
    }
    return made;
  }();
  return *table;
}

std::string ToStandIns(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) AppendUtf8(ByteStandIns()[static_cast<unsigned char>(c)], out);
  return out;
}

bool FromStandIns(std::string_view stand_ins, std::string& bytes) {
  static const auto* const back = [] {
    auto* made = new std::unordered_map<char32_t, char>;
    for (int b = 0; b < 256; ++b) {
      made->emplace(ByteStandIns()[static_cast<size_t>(b)], static_cast<char>(b));
    }
    return made;
  }();
  for (size_t at = 0; at < stand_ins.size();) {
    const CodePoint point = DecodeAt(stand_ins, at);
    const auto found = back->find(point.value);
    if (!point.valid || found == back->end()) return false;
    bytes += found->second;
    at += static_cast<size_t>(point.bytes);
  }
  return true;
}

}  // namespace muster::trainer
