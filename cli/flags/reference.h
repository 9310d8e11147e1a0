#ifndef MUSTER_CLI_FLAGS_REFERENCE_H_
#define MUSTER_CLI_FLAGS_REFERENCE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/flags/command.h"

// The generated parts of docs/cli.md, in Markdown. Pure.
namespace muster::cli {

// Returns a table of all commands of `tool`, with links to their sections.
std::string CommandTable(const std::vector<Command>& commands, absl::string_view tool = "muster");

// Returns a section for each command: its usage, its help and a table of its flags.
std::string CommandSections(const std::vector<Command>& commands,
                            absl::string_view tool = "muster");

// One row of a table of flags.
struct FlagRow {
  std::vector<std::string> flags;  // with dashes
  std::string help;
};

// The text that a program prints about its flags, taken apart.
struct UsageText {
  std::string usage;  // the lines before the first flag
  std::vector<FlagRow> rows;
};

// Reads a text whose flags begin lines with two spaces: `  --NAME [--NAME] HELP`. Lines that are
// indented further go on with the help before them.
UsageText ReadUsageText(absl::string_view text);

std::string FlagTable(const std::vector<FlagRow>& rows);

// Returns `text` in a block of code.
std::string CodeBlock(absl::string_view text);

}  // namespace muster::cli

#endif  // MUSTER_CLI_FLAGS_REFERENCE_H_
