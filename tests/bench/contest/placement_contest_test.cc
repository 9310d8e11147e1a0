#include "tests/bench/contest/placement_contest.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/bench/contest/exact_packing.h"

namespace muster::control {
namespace {

// Four nodes with at most 4 free GPUs each in two leaves, and three gangs.
Contest TinyContest(uint64_t seed) {
  Contest contest = SmallContest(seed);
  contest.inventory.nodes.resize(4);
  for (int i = 0; i < 4; ++i) {
    NodeInventory& node = contest.inventory.nodes[i];
    node.allocatable = WithGpus(4);
    node.allocatable.slots = 110;
    node.free = node.allocatable;
    node.free.gpus = static_cast<int64_t>((seed * 7 + i * i * 3 + seed * i) % 5);
    node.domains = {"c", "s0", absl::StrCat("l", i / 2)};
  }
  contest.gangs.resize(3);
  for (GangRequest& gang : contest.gangs) {
    gang.per_worker = WithGpus(std::min<int64_t>(gang.per_worker.gpus, 2));
    gang.min = gang.max = std::min(gang.max, 4);
  }
  return contest;
}

// The best score over all ways to give every worker of a gang a node, or to leave the gang out.
double BestOfAll(const Contest& contest) {
  std::vector<int64_t> free;
  for (const NodeInventory& node : contest.inventory.nodes) free.push_back(node.free.gpus);
  Places places(contest.gangs.size());
  double best = 0;
  std::function<void(size_t, size_t)> extend = [&](size_t gang, size_t from) {
    if (gang == contest.gangs.size()) {
      best = std::max(best, ScoreContest(contest, places).value().score);
      return;
    }
    const GangRequest& request = contest.gangs[gang];
    if (places[gang].empty()) extend(gang + 1, 0);
    if (static_cast<int>(places[gang].size()) == request.max) return extend(gang + 1, 0);
    for (size_t node = from; node < free.size(); ++node) {
      if (free[node] < request.per_worker.gpus) continue;
      free[node] -= request.per_worker.gpus;
      places[gang].push_back(contest.inventory.nodes[node].name);
      extend(gang, node);
      places[gang].pop_back();
      free[node] += request.per_worker.gpus;
    }
  };
  extend(0, 0);
  return best;
}

TEST(ExactPackingTest, EqualsTheBestOfAllWaysOnTinyClusters) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Contest contest = TinyContest(seed);
    const std::optional<Places> exact = PlaceExactly(contest, 100'000);
    ASSERT_TRUE(exact.has_value()) << seed;
    ASSERT_NEAR(ScoreContest(contest, *exact).value().score, BestOfAll(contest), 1e-9) << seed;
  }
}

TEST(ExactPackingTest, SaysWhenItHasNotFinished) {
  EXPECT_FALSE(PlaceExactly(SmallContest(1), 1).has_value());
}

TEST(PlacementContestTest, PlaceInTurnIsWithinThreePercentOfTheBestForAllTogether) {
  double ours = 0, best = 0, random = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Contest contest = SmallContest(seed);
    const std::optional<Places> exact = PlaceExactly(contest, 2'000'000);
    ASSERT_TRUE(exact.has_value()) << seed;
    const double most = ScoreContest(contest, *exact).value().score;
    const double here = ScoreContest(contest, PlaceInTurn(contest)).value().score;
    ASSERT_LE(here, most + 1e-9) << seed;
    ASSERT_LE(most, ScoreBound(contest) + 1e-9) << seed;
    ours += here;
    best += most;
    random += ScoreContest(contest, PlaceAtRandom(contest, seed)).value().score;
  }
  EXPECT_GE(ours, 0.97 * best);
  EXPECT_LT(random, 0.5 * best);
}

TEST(PlacementContestTest, NearlyAllOfTwoHundredGangsAreAsCloseAsAlone) {
  const Contest contest = LargeContest(1);
  const Outcome ours = ScoreContest(contest, PlaceInTurn(contest)).value();
  EXPECT_GE(ours.score, 0.97 * ScoreBound(contest));
}

TEST(PlacementContestTest, AnImpossibleOutcomeIsRefused) {
  Contest contest = TinyContest(1);
  contest.gangs.resize(1);
  contest.gangs[0].min = contest.gangs[0].max = 2;
  contest.gangs[0].per_worker = WithGpus(2);
  contest.inventory.nodes[0].free = WithGpus(2);
  const auto error = [&](const std::vector<std::string>& nodes) {
    return std::string(ScoreContest(contest, Places{nodes}).status().message());
  };
  EXPECT_EQ(error({"node-0", std::string("node-0")}),
            "node-0 is given more workers than it has room for");
  EXPECT_EQ(error({std::string("node-0")}), "gang-0 is placed only in part");
  EXPECT_EQ(error({"a", std::string("b")}), "there is no node a");
}

}  // namespace
}  // namespace muster::control
