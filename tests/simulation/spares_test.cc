// Tests jobs with spares in the whole operator, on virtual time: what a swap saves, who gets the
// capacity of spares, and a process that dies after a swap.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {
namespace {

using testing::IsEmpty;

constexpr int kSteps = 3000;

class SparesTest : public testing::Test {
 protected:
  SparesTest() : world_({.seed = 1, .election = false}) {}

  // Creates a job whose workers have a CPU each.
  void AddJob(const std::string& name, int workers, int spares, int steps = kSteps) {
    world_.CreateJobOfCpus(name,
                           {{"workers", {{"count", workers}, {"min", workers}, {"spares", spares}}},
                            {"trainer", {{"train", {{"steps", steps}, {"globalBatch", 64}}}}}});
  }
  bool Trains(const std::string& name, int workers) const {
    return world_.Job(name).status.state() == "Training" &&
           world_.fleet->Training(world_.Job(name).uid) == workers;
  }
  int Spares(const std::string& name) const { return world_.Job(name).status.workers().spares(); }
  bool Until(const std::function<bool()>& done, absl::Duration limit = absl::Minutes(10)) {
    return world_.RunUntil(done, limit);
  }
  void Lose(const std::string& name, const std::vector<int>& workers) {
    for (const int worker : workers) world_.fleet->KillAgent(world_.Job(name).uid, worker);
  }
  // Returns the workers that train, by rank: any of them may, whichever came first.
  std::vector<int> Ranks(const std::string& name, int pods) const {
    std::map<int, int> by_rank;
    for (int index = 0; index < pods; ++index) {
      const SimAgent* agent = world_.fleet->Agent(world_.Job(name).uid, index);
      if (agent == nullptr || agent->phase != SimAgent::Phase::kRunning) continue;
      by_rank[agent->place.group_rank] = index;
    }
    std::vector<int> ranks;
    for (const auto& [rank, index] : by_rank) ranks.push_back(index);
    return ranks;
  }
  // Returns the time in which a job of 16 workers and that many spares trains on after the loss of
  // three of them at once.
  absl::Duration TimeToRecover(const std::string& name, int spares) {
    AddJob(name, 16, spares);
    EXPECT_TRUE(Until([&] { return Trains(name, 16) && Spares(name) == spares; }));
    const int64_t round = world_.Job(name).status.round();
    const std::vector<int> ranks = Ranks(name, 16 + spares);
    const absl::Time lost_at = world_.clock.Monotonic();
    Lose(name, {ranks[2], ranks[7], ranks[11]});
    EXPECT_TRUE(Until([&] { return world_.Job(name).status.round() > round && Trains(name, 16); }));
    const absl::Duration took = world_.clock.Monotonic() - lost_at;
    if (spares > 0) {
      const std::vector<int> now = Ranks(name, 16 + spares);
      for (int rank = 0; rank < 16; ++rank) {
        const bool lost = rank == 2 || rank == 7 || rank == 11;
        EXPECT_EQ(now[rank] != ranks[rank], lost) << "rank " << rank;
      }
    }
    return took;
  }

  ReplicaWorld world_;
};

TEST_F(SparesTest, ThreeOfSixteenWorkersAreSwappedInAFractionOfTheTimeOfNewPods) {
  for (const char* node : {"first", "second", "third", "fourth"}) world_.AddNode(node, 10);
  // An image is there; a process starts, loads its libraries and attaches.
  world_.fleet->SetStartUp(absl::Seconds(15), absl::Seconds(30));
  const absl::Duration with_spares = TimeToRecover("spared", 3);
  const v1alpha1::SwapStatus swap = world_.Job("spared").status.swap();
  EXPECT_EQ(swap.round(), 2);
  EXPECT_LE(swap.pause_seconds(), 10);
  const absl::Duration with_new_pods = TimeToRecover("bare", 0);
  EXPECT_FALSE(world_.Job("bare").status.has_swap());
  RecordProperty("swap", absl::FormatDuration(with_spares));
  RecordProperty("new_pods", absl::FormatDuration(with_new_pods));
  EXPECT_LE(with_spares, absl::Seconds(10));
  EXPECT_LE(with_spares, with_new_pods * 0.2) << with_new_pods;
  // The replacements become the new spares, and break no round.
  ASSERT_TRUE(Until([&] { return Spares("spared") == 3; }));
  EXPECT_EQ(world_.Job("spared").status.round(), 2);
  EXPECT_EQ(world_.Job("spared").status.workers().ready(), 16);
  ASSERT_TRUE(Until([&] { return world_.Succeeded("spared") && world_.Succeeded("bare"); },
                    absl::Hours(1)));
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
  EXPECT_TRUE(Until([&] {
    for (const Json& pod : world_.Pods()) {
      if (kube::StringAt(pod, {"status", "phase"}) == "Running") return false;
    }
    return true;
  })) << "spares end with the job";
}

TEST_F(SparesTest, AnotherJobGetsTheCapacityOfSparesAndNoRoundIsBrokenForIt) {
  world_.AddNode("node", 4);
  AddJob("spared", 2, 2);
  ASSERT_TRUE(Until([&] { return Trains("spared", 2) && Spares("spared") == 2; }));
  AddJob("other", 2, 0, 100);
  ASSERT_TRUE(Until([&] { return Trains("other", 2); }, absl::Minutes(1)));
  EXPECT_EQ(Spares("spared"), 0);
  EXPECT_TRUE(Trains("spared", 2));
  EXPECT_EQ(world_.Job("spared").status.round(), 1);
  ASSERT_TRUE(Until([&] { return world_.Succeeded("spared"); }, absl::Hours(1)));
  EXPECT_EQ(world_.Job("spared").status.round(), 1);
  EXPECT_EQ(world_.fleet->steps_done(), kSteps + 100);
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

TEST_F(SparesTest, AJobDoesNotWaitForSparesAndGetsThemWhenANodeComes) {
  world_.AddNode("first", 2);
  AddJob("spared", 2, 1);
  ASSERT_TRUE(Until([&] { return Trains("spared", 2); }, absl::Minutes(1)));
  world_.RunFor(absl::Seconds(30));
  EXPECT_EQ(Spares("spared"), 0);
  EXPECT_TRUE(Trains("spared", 2));
  world_.AddNode("second", 1);
  EXPECT_TRUE(Until([&] { return Spares("spared") == 1; }, absl::Minutes(1)));
  EXPECT_EQ(world_.Job("spared").status.round(), 1);
}

TEST_F(SparesTest, ALeaderThatDiesAfterASwapLeavesTheRanksAsTheyAre) {
  world_.AddNode("node", 6);
  AddJob("spared", 3, 1);
  ASSERT_TRUE(Until([&] { return Trains("spared", 3) && Spares("spared") == 1; }));
  const std::vector<int> ranks = Ranks("spared", 4);
  Lose("spared", {ranks[1]});
  ASSERT_TRUE(Until([&] {
    return world_.Job("spared").status.round() == 2 && Trains("spared", 3) && Spares("spared") == 1;
  }));
  const std::vector<int> swapped = Ranks("spared", 4);
  world_.Kill(world_.hosts[0]);
  world_.RunFor(absl::Minutes(1));
  EXPECT_EQ(world_.Job("spared").status.round(), 2) << "the round is adopted";
  Lose("spared", {ranks[0]});
  ASSERT_TRUE(
      Until([&] { return world_.Job("spared").status.round() == 3 && Trains("spared", 3); }));
  const std::vector<int> last = Ranks("spared", 4);
  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(last[0], ranks[1]) << "the first one's replacement was the spare";
  EXPECT_EQ(last[1], swapped[1]);
  EXPECT_EQ(last[2], ranks[2]);
  ASSERT_TRUE(Until([&] { return world_.Succeeded("spared"); }, absl::Hours(1)));
  EXPECT_THAT(world_.promises.broken(), IsEmpty());
}

}  // namespace
}  // namespace muster::control
