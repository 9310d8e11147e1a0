// Compares docs/cli.md with the tables that the programs parse their command lines by. Under
// `bazel run`, as tools/generate calls it, this test writes the generated parts of the document.
#include "cli/flags/reference.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "agent/worker/worker_flags.h"
#include "base/testing/generated_document.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/invocation.h"
#include "cli/kubectl/commands.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/app/operator_flags.h"
#include "operator/local/local_nodes_flags.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

std::string FlagsBefore() {
  const std::string flags =
      absl::StrJoin(FlagsBeforeCommand(), " and ", [](std::string* out, const std::string& flag) {
        absl::StrAppend(out, "`--", flag, " VALUE`");
      });
  return absl::StrCat(flags, " may stand before the command as well.\n");
}

std::set<std::string> FlagsShownIn(absl::string_view usage) {
  std::set<std::string> shown;
  for (const FlagRow& row : ReadUsageText(usage).rows) {
    for (const std::string& flag : row.flags) shown.insert(flag.substr(2));
  }
  return shown;
}

std::string AgentTable() {
  std::string table = "| flag | default | what it does |\n|---|---|---|\n";
  for (const agent::WorkerFlag& flag : agent::WorkerFlags()) {
    absl::StrAppend(&table, "| `--", flag.name, "` | `$", flag.variable, "` | ", flag.help, " |\n");
  }
  return table;
}

TEST(ReferenceTest, TheDocumentMatchesTheTables) {
  const UsageText of_operator = ReadUsageText(control::kOperatorUsage);
  const std::vector<Command>& plugin = kubectl::PluginCommands();
  const UsageText of_local_nodes = ReadUsageText(control::kLocalNodesUsage);
  CheckDocument("docs/cli.md", {{"commands", CommandTable(Commands())},
                                {"flags before the command", FlagsBefore()},
                                {"command flags", CommandSections(Commands())},
                                {"plugin commands", CommandTable(plugin, "kubectl muster")},
                                {"plugin flags", CommandSections(plugin, "kubectl muster")},
                                {"operator usage", CodeBlock(of_operator.usage)},
                                {"operator flags", FlagTable(of_operator.rows)},
                                {"agent flags", AgentTable()},
                                {"local nodes usage", CodeBlock(of_local_nodes.usage)},
                                {"local nodes flags", FlagTable(of_local_nodes.rows)}});
}

TEST(ReferenceTest, EveryFlagHasAHelp) {
  for (const Command& command : Commands()) {
    for (const FlagSpec& flag : command.flags()) {
      EXPECT_FALSE(flag.help.empty()) << command.name << " --" << flag.name;
    }
  }
  for (const agent::WorkerFlag& flag : agent::WorkerFlags()) {
    EXPECT_STRNE(flag.help, "") << flag.name;
  }
}

// These programs print a text about their flags that stands beside the parser's table.
TEST(ReferenceTest, AUsageTextNamesEveryFlagThatItsProgramParses) {
  EXPECT_THAT(FlagsShownIn(control::kOperatorUsage),
              ElementsAreArray(control::OperatorFlagNames()));
  EXPECT_THAT(FlagsShownIn(control::kLocalNodesUsage),
              ElementsAreArray(control::LocalNodesFlagNames()));
}

TEST(ReferenceTest, AUsageTextIsSplitIntoFlagsAndHelp) {
  const UsageText read = ReadUsageText(
      "usage: it [FLAGS]\n       it --now\n"
      "  --a       one;\n            and more\n"
      "  --b --c   two\n            default 2\n"
      "  --long-name\n            three\n");
  EXPECT_EQ(read.usage, "usage: it [FLAGS]\n       it --now\n");
  ASSERT_EQ(read.rows.size(), 3u);
  EXPECT_THAT(read.rows[0].flags, ElementsAre("--a"));
  EXPECT_EQ(read.rows[0].help, "one; and more");
  EXPECT_THAT(read.rows[1].flags, ElementsAre("--b", "--c"));
  EXPECT_EQ(read.rows[1].help, "two; default 2");
  EXPECT_THAT(read.rows[2].flags, ElementsAre("--long-name"));
  EXPECT_EQ(read.rows[2].help, "three");
  EXPECT_THAT(ReadUsageText("").rows, IsEmpty());
}

int Nothing(const std::vector<std::string>&) { return 0; }

TEST(ReferenceTest, ACommandIsASectionWithItsFlags) {
  const std::vector<Command> commands = {
      {"draw", "draw A|B [--now]", "draws a|b", &Nothing,
       [] { return std::vector<FlagSpec>{{"now", "at once", true}, {"into", "this | that"}}; }}};
  EXPECT_EQ(CommandTable(commands),
            "| command | what it does |\n|---|---|\n| [`draw`](#muster-draw) | draws a\\|b |\n");
  EXPECT_EQ(CommandSections(commands),
            "\n### muster draw\n\n```\nmuster draw A|B [--now]\n```\n\nDraws a|b.\n\n"
            "| flag | what it does |\n|---|---|\n| `--now` | at once |\n"
            "| `--into VALUE` | this \\| that |\n\n");
}

}  // namespace
}  // namespace muster::cli
