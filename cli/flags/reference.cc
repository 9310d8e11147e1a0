#include "cli/flags/reference.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/flags/flags.h"

namespace muster::cli {
namespace {

constexpr char kContinued[] = "    ";

// A bar would end the cell.
std::string Cell(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string Sentence(absl::string_view help) {
  std::string sentence(help);
  if (!sentence.empty()) sentence[0] = absl::ascii_toupper(sentence[0]);
  return absl::StrCat(sentence, ".");
}

std::vector<FlagRow> RowsOf(const std::vector<FlagSpec>& specs) {
  std::vector<FlagRow> rows;
  for (const FlagSpec& spec : specs) {
    rows.push_back(
        {{absl::StrCat("--", spec.name, spec.is_switch ? "" : " VALUE")}, std::string(spec.help)});
  }
  return rows;
}

// Splits `  --NAME --NAME HELP` into the names and the help.
FlagRow ReadFlagLine(absl::string_view line) {
  FlagRow row;
  line = absl::StripAsciiWhitespace(line);
  while (absl::StartsWith(line, "--")) {
    const size_t end = line.find(' ');
    row.flags.emplace_back(line.substr(0, end));
    line =
        end == absl::string_view::npos ? "" : absl::StripLeadingAsciiWhitespace(line.substr(end));
  }
  row.help = std::string(line);
  return row;
}

// Appends a line to the help that it goes on with. A default may begin a line, without a mark.
void AppendToHelp(absl::string_view line, std::string& help) {
  const bool marked = help.empty() || absl::ascii_ispunct(help.back());
  const bool new_clause = absl::StartsWith(line, "default ") && !marked;
  absl::StrAppend(&help, help.empty() ? "" : new_clause ? "; " : " ", line);
}

}  // namespace

std::string CommandTable(const std::vector<Command>& commands, absl::string_view tool) {
  const std::string anchor = absl::StrReplaceAll(tool, {{" ", "-"}});
  std::string table = "| command | what it does |\n|---|---|\n";
  for (const Command& command : commands) {
    absl::StrAppend(&table, "| [`", command.name, "`](#", anchor, "-", command.name, ") | ",
                    Cell(command.help), " |\n");
  }
  return table;
}

std::string CommandSections(const std::vector<Command>& commands, absl::string_view tool) {
  std::string sections;
  for (const Command& command : commands) {
    absl::StrAppend(&sections, "\n### ", tool, " ", command.name, "\n\n",
                    CodeBlock(absl::StrCat(tool, " ", command.usage)), "\n", Sentence(command.help),
                    "\n\n", FlagTable(RowsOf(command.flags())));
  }
  return absl::StrCat(sections, "\n");
}

UsageText ReadUsageText(absl::string_view text) {
  UsageText read;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    if (absl::StartsWith(line, "  --")) {
      read.rows.push_back(ReadFlagLine(line));
    } else if (read.rows.empty()) {
      absl::StrAppend(&read.usage, line, "\n");
    } else if (absl::StartsWith(line, kContinued)) {
      AppendToHelp(absl::StripAsciiWhitespace(line), read.rows.back().help);
    }
  }
  return read;
}

std::string FlagTable(const std::vector<FlagRow>& rows) {
  std::string table = "| flag | what it does |\n|---|---|\n";
  for (const FlagRow& row : rows) {
    absl::StrAppend(&table, "| `", absl::StrJoin(row.flags, "`, `"), "` | ", Cell(row.help),
                    " |\n");
  }
  return table;
}

std::string CodeBlock(absl::string_view text) {
  return absl::StrCat("```\n", absl::StripSuffix(text, "\n"), "\n```\n");
}

}  // namespace muster::cli
