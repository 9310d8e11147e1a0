// Kills ranks at the named places in a step, a join and a save, where commit_exploration_test.cc
// lets them die, and asserts that the run ends with the weights of an undisturbed run, byte for
// byte. MUSTER_FULL=1 uses every place with every rank, at more steps.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/test_iterations.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_job.h"

namespace muster::tests {
namespace {

constexpr int kSteps = 30;

struct Case {
  std::string name;
  std::string failpoints;
};

// A failpoint that kills the first process of `rank` at the given hit of `place`.
std::string Kill(const std::string& place, int hit, int rank) {
  return absl::StrCat(place, "=kill@", hit, "?RANK=", rank, "&TORCHELASTIC_RESTART_COUNT=0");
}

std::vector<Case> Cases() {
  std::vector<Case> cases = {
      {"BeforeVote", Kill("trainer.before_vote", 12, 1)},
      {"AfterVoteSent", Kill("trainer.after_vote_sent", 13, 0)},
      {"AfterVoteOfRank0", Kill("trainer.after_vote", 14, 0)},
      {"MidApply", Kill("trainer.mid_apply", 7, 1)},
      {"MidApplyOfRank0", Kill("trainer.mid_apply", 17, 0)},
      {"AfterApply", Kill("trainer.after_apply", 15, 1)},
      {"DuringFirstJoin", Kill("trainer.during_join", 1, 1)},
      {"WhileRejoining",
       absl::StrCat(Kill("trainer.after_vote", 9, 1), ";", Kill("trainer.during_join", 2, 0))},
      // The survivor has written its share of the last checkpoint, which is useless alone.
      {"AfterTheLastVote", Kill("trainer.after_vote", 30, 0)},
      {"BothAtOnce",
       absl::StrCat(Kill("trainer.after_apply", 20, 0), ";", Kill("trainer.mid_apply", 20, 1))},
      {"AfterShard", Kill("checkpoint.after_shard", 1, 1)},
      {"BeforeDone", Kill("checkpoint.before_done", 1, 0)},
  };
  if (!FullEffort()) return cases;
  for (const char* place :
       {"before_vote", "after_vote_sent", "after_vote", "mid_apply", "after_apply"}) {
    for (const int rank : {0, 1}) {
      for (const int hit : {1, 2, 15, 16, 29, 30}) {
        cases.push_back({absl::StrCat(place, "_", hit, "_rank_", rank),
                         Kill(absl::StrCat("trainer.", place), hit, rank)});
      }
    }
  }
  return cases;
}

class FailpointTest : public ::testing::TestWithParam<Case> {};

TEST_P(FailpointTest, EndsWithTheUndisturbedWeights) {
  const DisturbedJobSpec job = {
      .steps = kSteps, .save_every = 15, .failpoints = GetParam().failpoints};
  auto run = NewRun(GetParam().name, job);
  ASSERT_TRUE(run->Start().ok());
  ExpectUndisturbedWeights(*run, job);
  EXPECT_GE(RoundOf(*run), 2) << "the failpoint was not hit\n" << run->Output();
}

INSTANTIATE_TEST_SUITE_P(Places, FailpointTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace muster::tests
