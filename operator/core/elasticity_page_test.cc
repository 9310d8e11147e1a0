// Checks that docs/elasticity.md says what the code does: its reasons, files and durations.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/growth/growth_policy.h"
#include "operator/core/state/options.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> Lines() {
  std::ifstream file("docs/elasticity.md");
  EXPECT_TRUE(file.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Returns the rows of the table under `## heading`, each cell without blanks and backquotes.
std::vector<std::vector<std::string>> Table(const std::string& heading) {
  std::vector<std::vector<std::string>> rows;
  bool inside = false;
  bool past_header = false;
  for (const std::string& line : Lines()) {
    if (line.rfind("## ", 0) == 0) inside = line == "## " + heading;
    if (!inside || line.rfind("|", 0) != 0) continue;
    if (past_header) {
      std::vector<std::string> cells;
      for (absl::string_view cell : absl::StrSplit(line.substr(1), '|')) {
        cells.push_back(absl::StrReplaceAll(absl::StripAsciiWhitespace(cell), {{"`", ""}}));
      }
      rows.push_back(cells);
    }
    past_header = past_header || line.rfind("|---", 0) == 0;
  }
  return rows;
}

enum Column { kCause, kCondition, kAction, kBound, kHysteresis, kPolicy };

// The cell of the only row whose cause begins with `cause`.
std::string Cell(const std::string& cause, Column column) {
  std::vector<std::string> found;
  for (const auto& row : Table("Causes")) {
    if (row[kCause].rfind(cause, 0) == 0) found.push_back(row[column]);
  }
  EXPECT_EQ(found.size(), 1u) << cause;
  return found.empty() ? "" : found[0];
}

std::string Text(absl::Duration duration) { return absl::FormatDuration(duration); }
// As people write it: 5m, not 5m0s.
std::string Short(absl::Duration duration) {
  std::string text = Text(duration);
  for (const char* zero : {"0s", "0m"}) {
    const size_t at = text.size() - 2;
    const bool is_rest =
        text.size() > 2 && text.substr(at) == zero && !absl::ascii_isdigit(text[at - 1]);
    if (is_rest) text.resize(at);
  }
  return text;
}

TEST(ElasticityPageTest, EveryReasonIsListed) {
  std::vector<std::string> names;
  for (const GrowthReason reason : AllGrowthReasons()) names.emplace_back(Name(reason));
  std::vector<std::string> listed;
  for (const auto& row : Table("Why a job has the size that it has")) listed.push_back(row[0]);
  EXPECT_THAT(listed, UnorderedElementsAreArray(names));
}

TEST(ElasticityPageTest, EveryCauseNamesTheFileOfItsPolicy) {
  const auto rows = Table("Causes");
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) {
    ASSERT_GT(row.size(), static_cast<size_t>(kPolicy)) << row[kCause];
    EXPECT_TRUE(std::filesystem::exists(row[kPolicy])) << row[kPolicy];
  }
}

TEST(ElasticityPageTest, TheDurationsAreThoseOfTheCode) {
  const DecideOptions options;
  const v1alpha1::TrainingJobSpec spec;
  EXPECT_THAT(Cell("workers.count is edited", kHysteresis), HasSubstr(Text(options.grow_delay)));
  EXPECT_THAT(Cell("workers.count is edited", kHysteresis),
              HasSubstr(absl::StrCat(Short(options.replacement_wait), " after the first")));
  EXPECT_THAT(Cell("capacity is free", kHysteresis), HasSubstr(Short(GrowthSnooze(spec))));
  EXPECT_THAT(Cell("added workers", kCondition),
              HasSubstr(absl::StrCat("no node after ", Short(options.growth_bind_deadline))));
  EXPECT_THAT(Cell("added workers", kCondition),
              HasSubstr(absl::StrCat("not ready after ", Short(options.growth_deadline))));
  EXPECT_THAT(Cell("added workers", kHysteresis), HasSubstr(Short(options.growth_snooze_limit)));
  EXPECT_THAT(Cell("a worker is lost, or a rank", kHysteresis),
              HasSubstr(Short(options.replacement_wait)));
  std::string text;
  for (const std::string& line : Lines()) absl::StrAppend(&text, line, " ");
  EXPECT_THAT(text, HasSubstr(absl::StrCat("less ", Short(options.growth_start_up), " in which")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("or ", Short(options.resize_pause), " if it has had")));
}

}  // namespace
}  // namespace muster::control
