#include "base/yaml/text_check.h"

#include <string_view>

#include "base/utf8.h"

namespace muster {
namespace {

bool IsControl(uint8_t byte) {
  return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
}

}  // namespace

std::optional<TextFault> FindTextFault(absl::string_view text) {
  int line = 1;
  for (size_t i = 0; i < text.size();) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    const size_t length =
        byte < 0x80 ? 1 : Utf8SequenceLength(std::string_view(text.data() + i, text.size() - i));
    if (length == 0 || IsControl(byte)) return TextFault{i, line, byte};
    if (byte == '\n') ++line;
    i += length;
  }
  return std::nullopt;
}

}  // namespace muster
