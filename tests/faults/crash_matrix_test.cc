// Kills the process that reaches a place, for every place at which a part of a run sends or
// receives a message or makes a change durable, and asserts that the run ends with the weights of
// an undisturbed run, byte for byte, and leaves nothing behind. crash_places.h lists the places.
// MUSTER_FULL=1 uses all of them, otherwise every eighth.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/files/files.h"
#include "base/testing/test_iterations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/crash_places.h"
#include "tests/faults/fault_job.h"

namespace muster::tests {
namespace {

constexpr int kEvery = 8;
constexpr absl::Duration kLong = absl::Minutes(5);

// Rank 1 dies once, so that the messages of a failure are among those of the run.
constexpr char kLossOfRank1[] = "trainer.after_vote=kill@8?RANK=1&TORCHELASTIC_RESTART_COUNT=0;";

const DisturbedJobSpec kJob = {
    .steps = 30, .save_every = 15, .memory = "{everySteps: 5, size: 256Mi}"};

// The process that dies is the first of its rank or worker; of operators there is one at a time.
std::string Victim(const std::string& place) {
  if (absl::StartsWith(place, "operator.")) return "";
  if (absl::StartsWith(place, "agent.")) {
    const bool of_rank_1 = absl::EndsWith(place, ".rank_exited");
    return absl::StrCat("?MUSTER_WORKER_INDEX=", of_rank_1 ? 1 : 0, "&MUSTER_INCARNATION=1");
  }
  return "?RANK=0&TORCHELASTIC_RESTART_COUNT=0";
}

std::unique_ptr<LocalRun> StartWith(const std::string& name, const std::string& failpoints) {
  auto run = NewRun(name, kJob);
  run->AddEnvironment(absl::StrCat("MUSTER_FAILPOINTS=", failpoints));
  EXPECT_TRUE(run->Start().ok());
  return run;
}

std::set<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

class CrashMatrixTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CrashMatrixTest, TheRunEndsWithTheUndisturbedWeights) {
  const std::string& place = GetParam();
  const std::string reached = absl::StrCat(FreshFolder("reached-" + place), "/places");
  const std::string victim = Victim(place);
  auto run = StartWith(place, absl::StrCat(kLossOfRank1, place, "=list:", reached, victim, ";",
                                           place, "=kill", victim));
  if (absl::StartsWith(place, "operator.")) {
    const auto end = run->WaitForEnd(kLong);
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_EQ(end->signal, SIGKILL) << run->Output();
    run->ClearEnvironment();
    ASSERT_TRUE(run->Start().ok());
  }
  ExpectUndisturbedWeights(*run, kJob);
  EXPECT_EQ(LinesOf(reached), std::set<std::string>{place}) << "nothing died there";
  const auto entries = FileSystem().List(run->Checkpoints());
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const DirectoryEntry& entry : *entries) {
    EXPECT_THAT(entry.name, ::testing::MatchesRegex("step-0000000(15|30)|claim|loss.svg"))
        << "left behind";
  }
}

std::vector<std::string> Chosen() {
  std::vector<std::string> places;
  for (size_t i = 0; i < std::size(kCrashPlaces); ++i) {
    if (FullEffort() || i % kEvery == 0) places.emplace_back(kCrashPlaces[i]);
  }
  return places;
}

INSTANTIATE_TEST_SUITE_P(Places, CrashMatrixTest, ::testing::ValuesIn(Chosen()),
                         [](const auto& info) {
                           return absl::StrReplaceAll(info.param, {{".", "_"}});
                         });

// A message or a durable change that is new must be added to the list.
TEST(CrashPlacesTest, AllPlacesThatARunReachesAreListed) {
  const std::string folder = FreshFolder("lists");
  const std::string ranks = folder + "/ranks", others = folder + "/others";
  auto run =
      StartWith("listed", absl::StrCat(kLossOfRank1, "*=list:", ranks, "?RANK=0;*=list:", others));
  ExpectUndisturbedWeights(*run, kJob);
  std::set<std::string> reached = LinesOf(ranks);
  for (const std::string& place : LinesOf(others)) {
    if (absl::StartsWith(place, "agent.") || absl::StartsWith(place, "operator.")) {
      reached.insert(place);
    }
  }
  // An agent ends a rank that has said its last word, and may do so before the rank is there.
  reached.erase("trainer.after_send.finished");
  // The survivor reports that it stalls, unless it hears of the next round first.
  std::erase_if(reached,
                [](const std::string& place) { return absl::EndsWith(place, ".stalled"); });
  const std::set<std::string> listed(std::begin(kCrashPlaces), std::end(kCrashPlaces));
  EXPECT_EQ(absl::StrJoin(reached, "\n"), absl::StrJoin(listed, "\n"));
}

}  // namespace
}  // namespace muster::tests
