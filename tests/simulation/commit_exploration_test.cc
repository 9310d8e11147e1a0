// Explores the commit protocol exhaustively: every order in which messages, collectives, deaths,
// partitions and restarts of the operator can happen to a few ranks over a few steps, with the real
// state machine of a rank and the real decision of the operator.

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/simulation/commit_world.h"
#include "xxhash.h"

namespace muster {
namespace {

struct Found {
  int64_t states = 0;
  int64_t ends = 0;
  bool cut = false;    // the limit was reached
  std::string broken;  // the broken promise and the actions that led to it
};

class Explorer {
 public:
  explicit Explorer(int64_t limit) : limit_(limit) {}

  // Visits each reachable world once, depth first. Visited worlds are stored as 128-bit hashes.
  Found Run(const CommitWorld& start) {
    struct Frame {
      CommitWorld world;
      std::vector<CommitWorld::Action> actions;
      size_t next = 0;
    };
    std::vector<Frame> stack;
    Visit(start);
    stack.push_back({start, start.Actions()});
    while (!stack.empty() && found_.broken.empty()) {
      Frame& top = stack.back();
      if (top.next == top.actions.size()) {
        stack.pop_back();
        continue;
      }
      const CommitWorld::Action action = top.actions[top.next++];
      CommitWorld world = top.world;
      std::string broken = world.Do(action);
      std::vector<CommitWorld::Action> actions;
      if (broken.empty()) {
        if (!Visit(world)) continue;
        actions = world.Actions();
        if (actions.empty()) {
          broken = world.CheckEnd();
          ++found_.ends;
        }
      }
      if (!broken.empty()) {
        found_.broken = broken + "\nafter:";
        for (const Frame& frame : stack) {
          absl::StrAppend(&found_.broken, "\n  ", CommitWorld::Name(frame.actions[frame.next - 1]));
        }
        break;
      }
      if (found_.states >= limit_) {
        found_.cut = true;
        break;
      }
      stack.push_back({std::move(world), std::move(actions)});
    }
    return found_;
  }

 private:
  struct Hash {
    size_t operator()(const std::pair<uint64_t, uint64_t>& key) const { return key.first; }
  };
  bool Visit(const CommitWorld& world) {
    const std::string key = world.Key();
    const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
    if (!seen_.emplace(hash.low64, hash.high64).second) return false;
    ++found_.states;
    return true;
  }

  const int64_t limit_;
  Found found_;
  std::unordered_set<std::pair<uint64_t, uint64_t>, Hash> seen_;
};

struct Case {
  std::string name;
  int ranks;
  int steps;
  Trouble trouble;
  JobKind kind = {};
};

constexpr int64_t kDefaultLimit = 80'000;

// The highest number of worlds per case, from MUSTER_EXPLORE_LIMIT; 0: no limit.
int64_t Limit() {
  const char* text = std::getenv("MUSTER_EXPLORE_LIMIT");
  const int64_t limit = text == nullptr ? kDefaultLimit : std::atoll(text);
  return limit == 0 ? INT64_MAX : limit;
}

class CommitExplorationTest : public testing::TestWithParam<Case> {};

TEST_P(CommitExplorationTest, KeepsItsPromises) {
  const Case& test = GetParam();
  const Found found =
      Explorer(Limit()).Run(CommitWorld(test.ranks, test.steps, test.trouble, test.kind));
  EXPECT_EQ(found.broken, "");
  printf("%s: %lld worlds, %lld ends%s\n", test.name.c_str(), static_cast<long long>(found.states),
         static_cast<long long>(found.ends), found.cut ? ", cut at the limit" : ", all there are");
}

INSTANTIATE_TEST_SUITE_P(
    All, CommitExplorationTest,
    testing::Values(
        Case{"TwoRanksUndisturbed", 2, 3, {}}, Case{"TwoRanksOneDies", 2, 3, {.deaths = 1}},
        Case{"TwoRanksTwoDie", 2, 2, {.deaths = 2}},
        Case{"TwoRanksZombie", 2, 3, {.partitions = 1}},
        Case{"TwoRanksZombieAndDeath", 2, 2, {.deaths = 1, .partitions = 1}},
        Case{"TwoRanksOperatorRestarts", 2, 2, {.deaths = 1, .operator_restarts = 1}},
        Case{"TwoRanksOperatorRestartsWithZombie", 2, 2, {.partitions = 1, .operator_restarts = 1}},
        Case{"ThreeRanksOneDies", 3, 2, {.deaths = 1}},
        Case{"ThreeRanksTwoDie", 3, 1, {.deaths = 2}},
        Case{"ThreeRanksZombie", 3, 2, {.partitions = 1}},
        Case{"ThreeRanksZombieAndExtraRound", 3, 1, {.partitions = 1, .extra_rounds = 1}},
        Case{"ThreeRanksTwoZombies", 3, 2, {.partitions = 2}},
        Case{"ThreeRanksOperatorRestarts", 3, 1, {.deaths = 1, .operator_restarts = 1}},
        Case{"FourRanksOneDies", 4, 1, {.deaths = 1}},
        Case{"FourRanksZombie", 4, 1, {.partitions = 1}},
        Case{"FourRanksTwoDie", 4, 2, {.deaths = 2}},
        Case{"TwoRanksDivideAndOneDies", 2, 2, {.deaths = 1}, {.shard = 2}},
        Case{"TwoRanksDivideAndOneIsAZombie", 2, 2, {.partitions = 1}, {.shard = 2}},
        Case{"TwoRanksDivideAndTheOperatorRestarts",
             2,
             2,
             {.deaths = 1, .operator_restarts = 1},
             {.shard = 2}},
        Case{"ThreeRanksDivideByTwoOrNot", 3, 2, {.partitions = 1}, {.shard = 2}},
        Case{"FourRanksInTwoCopiesOneDies", 4, 1, {.deaths = 1}, {.shard = 2}},
        Case{"FourRanksInTwoCopiesTwoDie", 4, 1, {.deaths = 2}, {.shard = 2}},
        Case{"FourRanksInTwoCopiesZombie", 4, 1, {.partitions = 1}, {.shard = 2}},
        Case{"FourRanksDivideAndOneIsAZombie", 4, 1, {.partitions = 1}, {.shard = 4}},
        Case{"TwoRanksOneDiskFails", 2, 3, {.failed_writes = 1}},
        Case{"TwoRanksTwoDisksFail", 2, 2, {.failed_writes = 2}},
        Case{"TwoRanksADiskFailsAndOneDies", 2, 2, {.deaths = 1, .failed_writes = 1}},
        Case{"ThreeRanksADiskFailsBesideAZombie", 3, 1, {.partitions = 1, .failed_writes = 1}},
        Case{"TwoRanksDivideAndADiskFails", 2, 2, {.failed_writes = 1}, {.shard = 2}},
        Case{"FourRanksInTwoCopiesADiskFails", 4, 1, {.failed_writes = 1}, {.shard = 2}},
        Case{"TwoRanksConfirmAndADiskFails", 2, 2, {.failed_writes = 1}, {.confirms = true}},
        Case{"TwoRanksConfirmUndisturbed", 2, 3, {}, {.confirms = true}},
        Case{"TwoRanksConfirmAndOneDies", 2, 2, {.deaths = 1}, {.confirms = true}},
        Case{"TwoRanksConfirmAndOneIsAZombie", 2, 2, {.partitions = 1}, {.confirms = true}},
        Case{"ThreeRanksConfirmAndTwoDie", 3, 1, {.deaths = 2}, {.confirms = true}},
        Case{"TwoRanksConfirmAndTheOperatorRestarts",
             2,
             2,
             {.deaths = 1, .operator_restarts = 1},
             {.confirms = true}},
        Case{"TwoRanksDivideAndConfirm", 2, 2, {.deaths = 1}, {.shard = 2, .confirms = true}},
        Case{"TwoRanksWithCopiesInMemoryOneDies", 2, 3, {.deaths = 1}, {.copies = true}},
        Case{"TwoRanksWithCopiesInMemoryTwoDie", 2, 3, {.deaths = 2}, {.copies = true}},
        Case{"TwoRanksDivideWithCopiesInMemory", 2, 3, {.deaths = 2}, {.shard = 2, .copies = true}},
        Case{"TwoRanksDivideWithCopiesInMemoryAndTheOperatorRestarts",
             2,
             3,
             {.deaths = 1, .operator_restarts = 1},
             {.shard = 2, .copies = true}},
        Case{"FourRanksInTwoShardsWithCopiesInMemory",
             4,
             2,
             {.deaths = 2},
             {.shard = 2, .copies = true}},
        Case{"TwoRanksDivideWithReplicasAndAWorkerIsLost",
             2,
             3,
             {.losses = 1},
             {.shard = 2, .copies = true, .replicas = true}},
        Case{"ThreeRanksDivideWithReplicasAndAWorkerIsLost",
             3,
             2,
             {.losses = 1},
             {.shard = 3, .copies = true, .replicas = true}},
        Case{"FourRanksInTwoShardsWithReplicasAndAWorkerIsLost",
             4,
             2,
             {.losses = 1},
             {.shard = 2, .copies = true, .replicas = true}},
        Case{"ThreeRanksDivideAndAGrowthBreaks",
             3,
             1,
             {.partitions = 1, .extra_rounds = 1},
             {.shard = 3}},
        Case{"ThreeRanksDivideAndAGrowthBreaksByADeath",
             3,
             1,
             {.deaths = 1, .partitions = 1},
             {.shard = 3}},
        Case{"FourRanksInTwoCopiesConfirm", 4, 1, {.deaths = 1}, {.shard = 2, .confirms = true}}),
    [](const auto& info) { return info.param.name; });

// Wrong decisions of the operator. Each breaks a promise, which the exploration must notice.
v1alpha1::ResumePoint NeverRelays(const std::vector<v1alpha1::RankPosition>& positions,
                                  int64_t round) {
  std::vector<v1alpha1::RankPosition> blind = positions;
  for (v1alpha1::RankPosition& position : blind) {
    position.clear_decisions();
    if (position.has_sealed()) position.clear_applied();
  }
  return CommitWorld::Decide(blind, round);
}
v1alpha1::ResumePoint ReusesAttempts(const std::vector<v1alpha1::RankPosition>& positions,
                                     int64_t round) {
  v1alpha1::ResumePoint point = CommitWorld::Decide(positions, round);
  point.set_next_attempt(1);
  return point;
}
v1alpha1::ResumePoint ForgetsWhoWasMissed(const std::vector<v1alpha1::RankPosition>& positions,
                                          int64_t round) {
  std::vector<v1alpha1::RankPosition> blind = positions;
  for (v1alpha1::RankPosition& position : blind) {
    position.clear_term();
    position.clear_round();
  }
  return CommitWorld::Decide(blind, round);
}

// Takes a version for live if one rank holds it, as if every rank held all of it.
v1alpha1::ResumePoint ForgetsSlices(const std::vector<v1alpha1::RankPosition>& positions,
                                    int64_t round) {
  std::vector<v1alpha1::RankPosition> blind = positions;
  for (v1alpha1::RankPosition& position : blind) position.clear_slice();
  v1alpha1::ResumePoint point = CommitWorld::Decide(blind, round);
  for (const v1alpha1::RankPosition& position : positions) *point.add_slices() = position.slice();
  return point;
}

TEST(CommitExplorationTest, AVersionOfWhichASliceIsLostMustNotBeTakenForLive) {
  const Found found =
      Explorer(1000000).Run(CommitWorld(2, 2, {.deaths = 1}, {.shard = 2}, &ForgetsSlices));
  EXPECT_EQ(found.broken.rfind("a rank goes on without a part of its slice", 0), 0) << found.broken;
}

// Takes a version for live that ranks of two layouts hold, as if none dropped its old slice before
// all had their new ones.
v1alpha1::ResumePoint ForgetsGapsBetweenLayouts(
    const std::vector<v1alpha1::RankPosition>& positions, int64_t round) {
  const v1alpha1::ResumePoint point = CommitWorld::Decide(positions, round);
  std::set<int> layouts;
  for (const v1alpha1::RankPosition& position : positions) {
    if (position.has_applied()) layouts.insert(position.slice().shards());
  }
  return layouts.size() < 2 ? point : ForgetsSlices(positions, round);
}

// Rank 2 joins the other two late, and another round begins while slices move to three ranks.
TEST(CommitExplorationTest, AGrowthThatBreaksMayLeaveAHoleBetweenTwoLayouts) {
  const Found found = Explorer(1000000).Run(CommitWorld(3, 1, {.partitions = 1, .extra_rounds = 1},
                                                        {.shard = 3}, &ForgetsGapsBetweenLayouts));
  EXPECT_EQ(found.broken.rfind("a rank goes on without a part of its slice", 0), 0) << found.broken;
}

// Goes on from the copies that one rank has, whatever the others have.
v1alpha1::ResumePoint TrustsOneCopy(const std::vector<v1alpha1::RankPosition>& positions,
                                    int64_t round) {
  std::vector<v1alpha1::RankPosition> blind = positions;
  for (v1alpha1::RankPosition& position : blind) {
    for (auto& copy : *position.mutable_copies()) copy.clear_slice();
  }
  v1alpha1::ResumePoint point = CommitWorld::Decide(blind, round);
  if (point.source() != v1alpha1::ResumePoint::MEMORY) return CommitWorld::Decide(positions, round);
  point.clear_slices();
  for (const v1alpha1::RankPosition& position : positions) {
    *point.add_slices() =
        position.copies_size() > 0 ? position.copies(0).slice() : v1alpha1::StateSlice();
  }
  return point;
}

TEST(CommitExplorationTest, CopiesThatDoNotCoverAllMustNotBeGoneOnFrom) {
  const Found found = Explorer(1000000).Run(
      CommitWorld(2, 3, {.deaths = 2}, {.shard = 2, .copies = true}, &TrustsOneCopy));
  EXPECT_EQ(found.broken.rfind("a rank goes on without a part of its slice", 0), 0) << found.broken;
}

// Without them, what both ranks knew is gone.
v1alpha1::ResumePoint ForgetsCopies(const std::vector<v1alpha1::RankPosition>& positions,
                                    int64_t round) {
  std::vector<v1alpha1::RankPosition> blind = positions;
  for (v1alpha1::RankPosition& position : blind) position.clear_copies();
  return CommitWorld::Decide(blind, round);
}

TEST(CommitExplorationTest, AnOperatorThatForgetsCopiesRedoesMoreThanAStep) {
  const Found found =
      Explorer(1000000).Run(CommitWorld(2, 3, {.deaths = 2}, {.copies = true}, &ForgetsCopies));
  EXPECT_NE(found.broken.find(" steps were committed, and the job goes on from "),
            std::string::npos)
      << found.broken;
}

// Without them, the slice that was lost with its worker takes the job back to its beginning.
v1alpha1::ResumePoint ForgetsReplicas(const std::vector<v1alpha1::RankPosition>& positions,
                                      int64_t round) {
  std::vector<v1alpha1::RankPosition> blind = positions;
  for (v1alpha1::RankPosition& position : blind) position.clear_replicas();
  return CommitWorld::Decide(blind, round);
}

TEST(CommitExplorationTest, AnOperatorThatForgetsReplicasRedoesMoreThanAStep) {
  const Found found = Explorer(1000000).Run(CommitWorld(
      2, 3, {.losses = 1}, {.shard = 2, .copies = true, .replicas = true}, &ForgetsReplicas));
  EXPECT_NE(found.broken.find(" steps were committed, and the job goes on from "),
            std::string::npos)
      << found.broken;
}

TEST(CommitExplorationTest, AnOperatorThatNeverRelaysLosesCommittedSteps) {
  const Found found = Explorer(1000000).Run(CommitWorld(2, 2, {.deaths = 1}, {}, &NeverRelays));
  EXPECT_EQ(found.broken.rfind("committed 1/1 was lost", 0), 0) << found.broken;
}

TEST(CommitExplorationTest, AReusedAttemptMixesHistories) {
  const Found found =
      Explorer(1000000).Run(CommitWorld(2, 2, {.deaths = 1, .partitions = 1}, {}, &ReusesAttempts));
  EXPECT_NE(found.broken, "");
}

TEST(CommitExplorationTest, AReturningRankMustNotSetTheResumePoint) {
  const Found found = Explorer(2000000).Run(
      CommitWorld(2, 2, {.deaths = 1, .partitions = 1}, {}, &ForgetsWhoWasMissed));
  EXPECT_EQ(found.broken.rfind("committed 1/1 was lost", 0), 0) << found.broken;
}

}  // namespace
}  // namespace muster
