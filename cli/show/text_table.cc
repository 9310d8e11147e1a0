#include "cli/show/text_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::cli {
namespace {

constexpr size_t kGap = 3;

// Counts characters of UTF-8, so that columns stay aligned.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string Printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = c == '\n' ? ' ' : '?';
  }
  return text;
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
