// Runs jobs of real processes in which one worker's links are slow: the test before the first step
// finds it.

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"
#include "tests/faults/undivided_state.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kSteps = 40;

// Failpoints that make the process that starts as rank 1 slow in each exchange of the test.
std::string SlowRank() {
  std::string text;
  for (int hit = 1; hit <= 60; ++hit) {
    absl::StrAppend(&text, hit == 1 ? "" : ";", "trainer.link_test=sleep:200@", hit, "?RANK=1");
  }
  return text;
}

TEST(SlowLinksTest, AReportNamesTheWorkerAndTheJobTrainsOn) {
  const auto run = StartUntilStep(
      1, "reported",
      {.steps = kSteps, .failpoints = SlowRank(), .workers = 3, .topology = "{linkTest: Report}"});
  ExpectUndividedState(*run, kSteps);
  EXPECT_THAT(run->Output(),
              AllOf(HasSubstr("SlowWorker"), HasSubstr("worker 1 on node local has "),
                    HasSubstr(" on 2 of 2 tested links: it stays"), Not(HasSubstr("SlowLink"))));
  EXPECT_EQ(RoundOf(*run), 1);
}

TEST(SlowLinksTest, AnExcludedWorkerIsReplacedByTheSpareBeforeTheFirstStep) {
  const auto run = StartUntilStep(1, "excluded",
                                  {.steps = kSteps,
                                   .failpoints = SlowRank(),
                                   .workers = 3,
                                   .spares = 1,
                                   .topology = "{linkTest: Exclude}"});
  ExpectUndividedState(*run, kSteps);
  EXPECT_THAT(run->Output(), AllOf(HasSubstr("worker 1 on node local has "),
                                   HasSubstr("tested links: it leaves the node"),
                                   Not(HasSubstr("round 1 of term 1 is active"))));
  EXPECT_GT(RoundOf(*run), 1);
}

}  // namespace
}  // namespace muster::tests
