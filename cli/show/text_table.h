#ifndef MUSTER_CLI_SHOW_TEXT_TABLE_H_
#define MUSTER_CLI_SHOW_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace muster::cli {

using Row = std::vector<std::string>;

// Formats rows as columns, as kubectl does: each as wide as its longest cell, three spaces between
// two, nothing after the last. Bytes that would move a terminal's cursor become `?`; an empty cell
// becomes `-`. Pure.
std::string TextTable(const std::vector<Row>& rows);

// Returns the first `columns` characters of a text in UTF-8.
std::string CutToWidth(std::string text, size_t columns);

// Returns `text` as one line without what would move a terminal's cursor or command it: such
// characters, and bytes that are not UTF-8, become `?`. The texts of an API server come from
// anybody who may write there, and those of a job from its programs. Pure.
std::string Printable(std::string text);
// Leaves the ends of lines and tabs.
std::string PrintableLines(std::string text);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SHOW_TEXT_TABLE_H_
