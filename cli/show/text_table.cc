#include "cli/show/text_table.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace muster::cli {
namespace {

constexpr size_t kGap = 3;

bool BeginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Counts characters of UTF-8, so that columns stay aligned.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

}  // namespace

std::string CutToWidth(std::string text, size_t columns) {
  size_t characters = 0;
  const auto end = std::find_if(text.begin(), text.end(), [&](char c) {
    return BeginsCharacter(c) && characters++ == columns;
  });
  text.erase(end, text.end());
  return text;
}

std::string Printable(std::string text) {
  text = PrintableLines(std::move(text));
  for (char& c : text) {
    if (c == '\n') c = ' ';
    if (c == '\t') c = '?';
  }
  return text;
}

std::string PrintableLines(std::string text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8SequenceLength(std::string_view(text).substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080 to U+009F are controls, too: U+009B begins a sequence as ESC [ does.
    const bool high = length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (length == 0 || control || high) {
      out += '?';
      i += std::max<size_t>(length, 1);
      continue;
    }
    out.append(text, i, length);
    i += length;
  }
  return out;
}

std::string TextTable(const std::vector<Row>& rows) {
  std::vector<Row> cells = rows;
  std::vector<size_t> widths;
  for (Row& row : cells) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = row[i].empty() ? "-" : Printable(std::move(row[i]));
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  std::string out;
  for (const Row& row : cells) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      absl::StrAppend(&out, row[i],
                      last ? "\n" : std::string(widths[i] - Width(row[i]) + kGap, ' '));
    }
  }
  return out;
}

}  // namespace muster::cli
