#include "operator/queue/room/claims.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/queue_fixtures.h"

namespace muster::control {
namespace {

using fixtures::At;
using fixtures::Job;
using fixtures::Queue;
using fixtures::Racks;
using fixtures::World;
using A = ScheduleAction;
using R = ScheduleReason;

// Jobs that were told to go in the last cycle, by UID, and the job that each makes room for.
std::map<std::string, std::string> Told(const World& world) {
  std::map<std::string, std::string> told;
  for (const Decision& decision : world.last) {
    const bool goes = decision.action == A::kStop || decision.action == A::kShrink;
    if (goes) told[decision.job] = decision.for_job;
  }
  return told;
}

// All claim their places in one cycle, instead of one stop after the other.
TEST(Claims, SixtyFourJobsTakeTheirQuotaBackInOneStop) {
  World world(Racks(2, 4), {Queue("mine", "c", 64), Queue("theirs", "c", 0)});
  for (int i = 0; i < 64; ++i) world.Submit(Job(absl::StrCat("theirs-", i), "theirs", 1, 1, 0, i));
  world.Cycle();
  world.now = At(100);
  for (int i = 0; i < 64; ++i) world.Submit(Job(absl::StrCat("mine-", i), "mine", 1, 1, 0, i));
  world.Cycle();
  const auto told = Told(world);
  EXPECT_EQ(told.size(), 64u);
  std::set<std::string> claimants;
  for (const auto& [victim, claimant] : told) {
    claimants.insert(claimant);
    EXPECT_EQ(world.book.Find(victim)->leaves_for, claimant);
  }
  EXPECT_EQ(claimants.size(), 64u);
  EXPECT_EQ(world.Of("mine-63").numbers.expected_start, At(160));
  // No other job goes while those are on their way.
  world.Cycle();
  EXPECT_TRUE(Told(world).empty());
  EXPECT_EQ(world.Of("mine-63").reason, R::kWaitingForVictims);
  world.LetLeaversGo();
  world.Cycle();
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(world.Runs(absl::StrCat("mine-", i))) << i;
}

TEST(Claims, HeadsOfSeveralQueuesOfACohortGetVictimsOfTheirOwn) {
  World world(Racks(1, 3), {Queue("x", "c", 8), Queue("y", "c", 8), Queue("z", "c", 8)});
  for (int i = 0; i < 3; ++i) world.Submit(Job(absl::StrCat("z", i), "z", 1, 8, 0, i));
  world.Cycle();
  world.now = At(100);
  world.Submit(Job("x0", "x", 1, 8, 0, 50));
  world.Submit(Job("y0", "y", 1, 8, 0, 50));
  world.Cycle();
  EXPECT_EQ(Told(world).size(), 2u);
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_TRUE(world.Runs("x0"));
  EXPECT_TRUE(world.Runs("y0"));
}

TEST(Claims, WhatAVanishedClaimantsLeaversHeldIsForOthers) {
  World world(Racks(1, 2), {Queue("x", "c", 8), Queue("y", "c", 8), Queue("z", "c", 0)});
  for (int i = 0; i < 2; ++i) world.Submit(Job(absl::StrCat("z", i), "z", 1, 8, 0, i));
  world.Cycle();
  world.now = At(100);
  world.Submit(Job("x0", "x", 1, 8, 0, 50));
  world.Cycle();
  ASSERT_EQ(Told(world).size(), 1u);
  world.book.Remove(world.now, "x0");
  world.Submit(Job("y0", "y", 1, 8, 0, 60));
  world.Cycle();
  EXPECT_TRUE(Told(world).empty()) << "what is on its way is enough";
  EXPECT_EQ(world.Of("y0").reason, R::kWaitingForVictims);
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_TRUE(world.Runs("y0"));
}

// The new leader knows which jobs are leaving, but not for whom.
TEST(Claims, ANewLeaderGivesWhatIsOnItsWayToThoseWhoWaitAndStopsNobodyElse) {
  const std::vector<QueueSpec> queues = {Queue("x", "c", 16), Queue("y", "c", 8),
                                         Queue("z", "c", 0)};
  World before(Racks(1, 4), queues);
  for (int i = 0; i < 4; ++i) before.Submit(Job(absl::StrCat("z", i), "z", 1, 8, 0, i));
  before.Cycle();
  before.now = At(100);
  for (const char* uid : {"x0", "x1"}) before.Submit(Job(uid, "x", 1, 8, 0, 50));
  before.Submit(Job("y0", "y", 1, 8, 0, 50));
  before.Cycle();
  ASSERT_EQ(Told(before).size(), 3u);
  World after(Racks(1, 4), queues);
  after.now = At(101);
  for (const char* uid : {"z0", "z1", "z2", "z3", "x0", "x1", "y0"}) {
    QueuedJob job = *before.book.Find(uid);
    job.leaves_for.clear();
    for (const std::string& node : job.nodes) {
      after.tree.Charge(*after.tree.FindNode(node), job.request.per_worker);
    }
    after.Submit(job);
  }
  after.Cycle();
  EXPECT_TRUE(Told(after).empty());
  for (const char* uid : {"x0", "x1", "y0"}) EXPECT_EQ(after.Of(uid).reason, R::kWaitingForVictims);
  after.LetLeaversGo();
  after.Cycle();
  for (const char* uid : {"x0", "x1", "y0"}) EXPECT_TRUE(after.Runs(uid)) << uid;
}

// Half of what it needs is free, the other half is on its way.
TEST(Claims, WhatIsFreeAndClaimedIsNotGivenToAnother) {
  World world(Racks(1, 3), {Queue("x", "c", 16), Queue("y", "c", 8), Queue("z", "c", 0)});
  for (int i = 0; i < 2; ++i) world.Submit(Job(absl::StrCat("z", i), "z", 1, 8, 0, i));
  world.Cycle();
  world.now = At(100);
  world.Submit(Job("x0", "x", 2, 8, 0, 50));
  world.Cycle();
  ASSERT_EQ(Told(world).size(), 1u);
  world.now = At(110);
  world.Submit(Job("y0", "y", 1, 8, 0, 105));
  world.Cycle();
  EXPECT_FALSE(world.Runs("y0"));
  EXPECT_EQ(Told(world).size(), 1u) << "it takes back its own";
  world.LetLeaversGo();
  world.Cycle();
  EXPECT_TRUE(world.Runs("x0"));
  EXPECT_TRUE(world.Runs("y0"));
}

// A job that was told that others make room for it gets that room when all of them have gone, and
// no other job is told to go meanwhile: nothing was promised twice.
void PlayClaims(bool whole_nodes, int& claims, int& together, int& broken) {
  for (int seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&random](int n) { return static_cast<int>(random() % n); };
    World world(Racks(2, 3), {Queue("x", "c", 16), Queue("y", "c", 16), Queue("z", "c", 16)});
    auto submit = [&](const std::string& uid, const std::string& queue, double created) {
      const int workers = 1 + pick(3);
      const int gpus = whole_nodes ? 8 : 1 << pick(4);
      QueuedJob job = Job(uid, queue, workers, gpus, 0, created);
      if (pick(3) == 0) job.request.min = 1;
      if (!whole_nodes && pick(4) == 0) job.request.required_level = "rack";
      job.priority = pick(3) * 100;
      world.Submit(job);
    };
    for (int i = 0; i < 12; ++i) submit(absl::StrCat("z", i), "z", i);
    world.Cycle();
    for (int step = 0; step < 4; ++step) {
      world.now += absl::Seconds(100);
      for (int i = 0; i < 4; ++i) {
        submit(absl::StrCat("n", step, "-", i), pick(2) ? "x" : "y",
               absl::ToDoubleSeconds(world.now - At(0)));
      }
      world.Cycle();
      std::set<std::string> claimants;
      for (const Decision& decision : world.last) {
        const bool waits = decision.action == A::kWait && decision.reason == R::kWaitingForVictims;
        if (waits) claimants.insert(decision.job);
      }
      // A stopped job may come before a claimant of its own queue when it waits again.
      std::set<std::string> overtaken;
      for (const auto& [uid, claimant] : Told(world)) {
        overtaken.insert(world.book.Find(uid)->queue);
      }
      world.LetLeaversGo();
      world.Cycle();
      for (const std::string& uid : claimants) {
        const bool runs = world.Runs(uid) || overtaken.contains(world.book.Find(uid)->queue);
        broken += runs ? 0 : 1;
        EXPECT_TRUE(runs || !whole_nodes) << uid << " of seed " << seed << ", step " << step << ": "
                                          << Name(world.Of(uid).reason);
      }
      claims += static_cast<int>(claimants.size());
      together += claimants.size() > 1 ? 1 : 0;
      world.LetLeaversGo();
    }
  }
}

TEST(Claims, AllClaimsHoldAtOnce) {
  int claims = 0, together = 0, broken = 0;
  PlayClaims(true, claims, together, broken);
  EXPECT_GT(claims, 300);
  EXPECT_GT(together, 50);
  EXPECT_EQ(broken, 0);
}

// Places are found anew in each cycle, so that in a broken-up cluster a few have to ask again.
TEST(Claims, OfAllShapesNearlyAllHoldAtOnce) {
  int claims = 0, together = 0, broken = 0;
  PlayClaims(false, claims, together, broken);
  EXPECT_GT(claims, 300);
  EXPECT_GT(together, 50);
  EXPECT_LE(broken * 20, claims) << broken << " of " << claims;
}

}  // namespace
}  // namespace muster::control
