// Tests the ledger over whole jobs on virtual time.
#include "operator/core/state/ledger_book.h"

#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/testing/sim_world.h"

namespace muster::control {
namespace {

using v1alpha1::LedgerStatus;

void RunFor(SimWorld& world, absl::Duration time) {
  const absl::Time end = world.now + time;
  while (world.now < end) world.RunOnce();
}

// Runs the job to its end, and returns its ledger, which must sum to the time of its ranks.
LedgerStatus Finish(SimWorld& world) {
  world.RunUntilEnded(absl::Minutes(20));
  EXPECT_EQ(world.job.status.state(), "Succeeded") << world.job.status.DebugString();
  const LedgerStatus& ledger = world.job.status.ledger();
  EXPECT_EQ(ParseWall(ledger.since()), world.job.job.created);
  const double lifetime =
      absl::ToDoubleSeconds(ParseWall(ledger.until()) - ParseWall(ledger.since()));
  const double want = lifetime * world.job.spec.workers().count();
  EXPECT_NEAR(TotalSeconds(ledger), want, 1e-3 * want);
  EXPECT_EQ(ledger.unreported(), 0);
  EXPECT_EQ(ledger.newest_step(), world.committed);
  return ledger;
}

// The seconds that all ranks spend in so many steps.
double OfSteps(const SimWorld& world, int64_t steps) {
  return absl::ToDoubleSeconds(SimWorld::kTick) * static_cast<double>(steps) *
         world.job.spec.workers().count();
}

TEST(LedgerTest, AnUndisturbedJobStartsAndTrains) {
  SimWorld world(1);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(600);
  const LedgerStatus ledger = Finish(world);
  EXPECT_NEAR(ledger.productive(), 0.8 * OfSteps(world, 600), 0.02 * OfSteps(world, 600));
  EXPECT_NEAR(ledger.communication(), 0.2 * OfSteps(world, 600), 0.02 * OfSteps(world, 600));
  EXPECT_GT(ledger.starting(), 0);
  EXPECT_GT(ledger.initialising(), 0);
  EXPECT_EQ(ledger.rework(), 0);
  EXPECT_EQ(ledger.recovering(), 0);
  EXPECT_EQ(ledger.idle(), 0);
}

TEST(LedgerTest, ARankThatDiesCostsTheTimeUntilTheNextRoundAndNoRework) {
  SimWorld world(2);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(600);
  RunFor(world, absl::Seconds(15));
  world.KillRank();
  const LedgerStatus ledger = Finish(world);
  EXPECT_GT(ledger.recovering(), 0.5);
  EXPECT_EQ(ledger.rework(), 0);
}

TEST(LedgerTest, StepsThatAreDoneAgainAreRework) {
  SimWorld world(3);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(600);
  RunFor(world, absl::Seconds(15));
  while (world.committed % 10 != 8) world.RunOnce();
  world.KillEveryAgent();
  const LedgerStatus ledger = Finish(world);
  EXPECT_NEAR(ledger.rework(), OfSteps(world, 8), OfSteps(world, 2));
  const double trained = ledger.productive() + ledger.communication();
  EXPECT_NEAR(trained, OfSteps(world, 600), 0.02 * OfSteps(world, 600));
}

TEST(LedgerTest, ASuspendedJobIsIdle) {
  SimWorld world(4);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(400);
  RunFor(world, absl::Seconds(5));
  world.job.spec.set_suspend(true);
  RunFor(world, absl::Minutes(5));
  world.job.spec.set_suspend(false);
  const LedgerStatus ledger = Finish(world);
  EXPECT_GT(ledger.idle(), 3 * 200);
  const auto goodput = GoodputOf(ledger);
  ASSERT_TRUE(goodput.has_value());
  EXPECT_LE(goodput->ettr, 1);
}

TEST(LedgerTest, ItEndsWithTheJobThoughTheStatusChangesLater) {
  SimWorld world(4);
  const LedgerStatus ledger = Finish(world);
  RunFor(world, absl::Seconds(30));
  world.ChangeLeader(false);
  world.job.spec.set_suspend(true);
  RunFor(world, absl::Minutes(5));
  EXPECT_EQ(world.job.status.ledger().SerializeAsString(), ledger.SerializeAsString());
}

// The new leader knows only what the status says, and gets reports of what went on meanwhile.
TEST(LedgerTest, NoTimeIsLostOrCountedTwiceAcrossLeaders) {
  SimWorld world(5);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(2000);
  for (int i = 0; i < 6; ++i) {
    RunFor(world, absl::Seconds(7));
    world.ChangeLeader(i % 2 == 1);
  }
  const LedgerStatus ledger = Finish(world);
  EXPECT_EQ(ledger.rework(), 0);
  EXPECT_GT(ledger.productive(), 0.7 * 0.8 * OfSteps(world, 2000));
}

// The status was last written when the job had two workers, and the next leader finds the spec of
// four.
TEST(LedgerTest, AnEditWhileNobodyLeadsCountsFromTheNextLeaderOn) {
  SimWorld world(6);
  world.job.spec.mutable_workers()->set_count(2);
  world.job.spec.mutable_workers()->set_max(4);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(100'000);
  RunFor(world, absl::Seconds(30));
  ASSERT_EQ(world.job.status.workers().desired(), 2);
  world.ChangeLeader(/*zombie=*/false);
  world.job.spec.mutable_workers()->set_count(4);
  world.now += absl::Seconds(40);
  const absl::Time edit = world.now;
  RunFor(world, absl::Seconds(60));
  const LedgerStatus& ledger = world.job.status.ledger();
  const double lifetime =
      absl::ToDoubleSeconds(ParseWall(ledger.until()) - ParseWall(ledger.since()));
  const double of_four = absl::ToDoubleSeconds(ParseWall(ledger.until()) - edit);
  ASSERT_GT(of_four, 0);
  const double want = 2 * (lifetime - of_four) + 4 * of_four;
  EXPECT_NEAR(TotalSeconds(ledger), want, 4) << "a tick of the leader's";
}

TEST(LedgerTest, ItSumsToTheTimeOfTheRanksWhateverHappens) {
  for (int seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE(seed);
    SimWorld world(seed);
    world.job.spec.mutable_trainer()->mutable_train()->set_steps(400);
    for (int i = world.Number(1, 12); i > 0 && !IsFinished(world.job.status); --i) {
      RunFor(world, absl::Milliseconds(world.Number(0, 4000)));
      switch (world.Number(0, 5)) {
        case 0:
          world.KillRank();
          break;
        case 1:
          world.KillAgent();
          break;
        case 2:
          world.DeleteSomePod();
          break;
        case 3:
          world.ChangeLeader(world.Pick(2));
          break;
        case 4:
          world.FailNextWrite();
          break;
        case 5:
          world.job.spec.set_suspend(!world.job.spec.suspend());
          break;
      }
    }
    world.job.spec.set_suspend(false);
    Finish(world);
  }
}

}  // namespace
}  // namespace muster::control
