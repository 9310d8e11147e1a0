// Checks that docs/states.md lists exactly what the code has.
#include <fstream>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/exit_codes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/resume/resume.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/round_transition.h"

namespace muster::control {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsSubsetOf;
using ::testing::UnorderedElementsAreArray;

// Returns the rows of the table under `## heading`, each cell without blanks and backquotes.
std::vector<std::vector<std::string>> Table(const std::string& heading) {
  std::ifstream file("docs/states.md");
  EXPECT_TRUE(file.good());
  std::vector<std::vector<std::string>> rows;
  std::string line;
  bool inside = false;
  bool past_header = false;
  while (std::getline(file, line)) {
    if (line.rfind("## ", 0) == 0) inside = line == "## " + heading;
    if (!inside || line.rfind("|", 0) != 0) continue;
    if (line.rfind("|---", 0) == 0) {
      past_header = true;
      continue;
    }
    if (!past_header) continue;
    std::vector<std::string> cells;
    for (absl::string_view cell : absl::StrSplit(line.substr(1), '|')) {
      cells.push_back(absl::StrReplaceAll(absl::StripAsciiWhitespace(cell), {{"`", ""}}));
    }
    rows.push_back(cells);
  }
  return rows;
}

std::vector<std::string> Names(const std::string& heading) {
  std::vector<std::string> names;
  for (const auto& row : Table(heading)) names.push_back(row[0]);
  return names;
}

template <typename Enum>
std::vector<std::string> NamesOf(const std::vector<Enum>& values) {
  std::vector<std::string> names;
  for (Enum value : values) names.emplace_back(Name(value));
  return names;
}

TEST(StatesTest, EveryConditionIsListed) {
  EXPECT_THAT(Names("Conditions"), ElementsAreArray(NamesOf(AllConditionTypes())));
}

TEST(StatesTest, EveryReasonIsListedWithItsConditions) {
  EXPECT_THAT(Names("Reasons"), ElementsAreArray(NamesOf(AllReasons())));
  std::vector<std::string> known = NamesOf(AllConditionTypes());
  known.push_back("plan");
  for (const auto& row : Table("Reasons")) {
    const std::vector<std::string> of = absl::StrSplit(row[1], ", ");
    EXPECT_THAT(of, IsSubsetOf(known)) << row[0];
  }
}

TEST(StatesTest, EveryJobStateIsListed) {
  EXPECT_THAT(Names("Job states"), ElementsAreArray(NamesOf(AllJobStates())));
}

TEST(StatesTest, EveryRoundPhaseIsListed) {
  EXPECT_THAT(Names("Round phases"), ElementsAreArray(NamesOf(AllRoundPhases())));
}

TEST(StatesTest, TheTransitionTableIsTheCodes) {
  std::vector<std::string> listed;
  for (const auto& row : Table("Round transitions")) {
    listed.push_back(absl::StrCat(row[0], " ", row[1], " ", row[2]));
  }
  std::vector<std::string> legal;
  for (RoundPhase phase : AllRoundPhases()) {
    for (RoundEvent event : AllRoundEvents()) {
      const auto next = Transition(phase, event);
      if (next.ok()) legal.push_back(absl::StrCat(Name(phase), " ", Name(event), " ", Name(*next)));
    }
  }
  EXPECT_THAT(listed, UnorderedElementsAreArray(legal));
}

TEST(StatesTest, AnIllegalTransitionSaysWhat) {
  const auto next = Transition(RoundPhase::kIdle, RoundEvent::kAllReady);
  EXPECT_EQ(next.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(next.status().message(), "a round that is Idle cannot AllReady");
}

TEST(StatesTest, EveryResumeReasonIsListed) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(ResumeReason::kCheckpointUnlistable); ++i) {
    names.emplace_back(Name(static_cast<ResumeReason>(i)));
  }
  EXPECT_THAT(Names("Resume reasons"), ElementsAreArray(names));
}

TEST(StatesTest, EveryExitCodeIsListed) {
  EXPECT_THAT(
      Names("Exit codes"),
      ElementsAreArray(std::vector<std::string>{
          absl::StrCat(+kExitOk), absl::StrCat(+kExitFailed), absl::StrCat(+kExitBadInput),
          absl::StrCat(+kExitRefused), absl::StrCat(+kExitDiverged), absl::StrCat(+kExitDoesNotFit),
          absl::StrCat(+kExitStopped), absl::StrCat(+kExitStepsNotSaved),
          absl::StrCat(+kExitReservedFirst, "–", +kExitReservedLast), absl::StrCat(+kExitOrphaned),
          absl::StrCat(+kExitSignalBase, "+n")}));
}

TEST(ConditionTest, TheTransitionTimeMovesOnlyWithTheStatus) {
  v1alpha1::TrainingJobStatus status;
  const absl::Time start = absl::FromUnixSeconds(1'700'000'000);
  SetCondition(status, ConditionType::kRunning, true, Reason::kRoundActive, "one", start, 1);
  SetCondition(status, ConditionType::kRunning, true, Reason::kRoundAdopted, "two",
               start + absl::Hours(1), 2);
  ASSERT_EQ(status.conditions_size(), 1);
  EXPECT_EQ(status.conditions(0).last_transition_time(), "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(status.conditions(0).reason(), "RoundAdopted");
  EXPECT_EQ(status.conditions(0).observed_generation(), 2);
  SetCondition(status, ConditionType::kRunning, false, Reason::kWorkerLost, std::string(5000, 'x'),
               start + absl::Hours(2), 2);
  EXPECT_EQ(ParseWall(status.conditions(0).last_transition_time()), start + absl::Hours(2));
  EXPECT_EQ(status.conditions(0).message().size(), 1024u);
}

}  // namespace
}  // namespace muster::control
