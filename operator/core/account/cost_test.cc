// Tests the cost over whole jobs on virtual time.
#include <algorithm>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/ledger_book.h"
#include "operator/core/testing/sim_world.h"

namespace muster::control {
namespace {

using v1alpha1::CostStatus;

constexpr WorkerRates kSpot = {.per_hour = 36, .on_demand_per_hour = 90, .watts = 3600};

// Adds up what the pods on nodes take, tick by tick, until the job ends. A fault between two ticks
// is seen by the operator at the second.
class Integral {
 public:
  explicit Integral(SimWorld& world) : world_(world) {}

  void RunOnce() {
    const double hours = absl::ToDoubleSeconds(SimWorld::kTick) / 3600;
    spent += per_hour_ * hours;
    kwh += watts_ * hours / 1000;
    worker_seconds += workers_ * hours * 3600;
    world_.RunOnce();
    per_hour_ = watts_ = workers_ = 0;
    if (IsFinished(world_.job.status)) return;
    world_.VisitPods([&](const PodView& pod) {
      const bool ended = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
      if (pod.node.empty() || ended) return;
      per_hour_ += pod.rates.per_hour.value_or(0);
      watts_ += pod.rates.watts.value_or(0);
      ++workers_;
    });
  }
  void RunFor(absl::Duration time) {
    const absl::Time end = world_.now + time;
    while (world_.now < end) RunOnce();
  }
  // Runs the job to its end, and returns its cost.
  CostStatus Finish() {
    const absl::Time end = world_.now + absl::Minutes(20);
    while (world_.now < end && !IsFinished(world_.job.status)) RunOnce();
    EXPECT_EQ(world_.job.status.state(), "Succeeded") << world_.job.status.DebugString();
    const CostStatus& cost = world_.job.status.cost();
    if (world_.job.status.has_cost()) {
      EXPECT_EQ(cost.until(), world_.job.status.ledger().until());
    }
    EXPECT_LE(cost.lost(), cost.spent());
    EXPECT_LE(cost.energy_lost_kwh(), cost.energy_kwh());
    return cost;
  }

  double spent = 0;
  double kwh = 0;
  double worker_seconds = 0;

 private:
  SimWorld& world_;
  double per_hour_ = 0;
  double watts_ = 0;
  int workers_ = 0;
};

SimWorld World(uint64_t seed) {
  SimWorld world(seed);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(600);
  world.options.currency = "USD";
  world.rates = [](const PodView&) { return kSpot; };
  return world;
}

TEST(CostTest, AnUndisturbedJobCostsItsWorkersTimeOnNodes) {
  SimWorld world = World(1);
  Integral integral(world);
  const CostStatus cost = integral.Finish();
  EXPECT_EQ(cost.currency(), "USD");
  EXPECT_GT(integral.spent, 3 * 600 * 0.05 * 36 / 3600);
  EXPECT_NEAR(cost.spent(), integral.spent, 1e-9 * integral.spent);
  EXPECT_NEAR(cost.energy_kwh(), integral.kwh, 1e-9 * integral.kwh);
  EXPECT_NEAR(cost.worker_seconds(), integral.worker_seconds, 1e-6);
  EXPECT_NEAR(cost.priced_seconds(), cost.worker_seconds(), 1e-6);
  EXPECT_NEAR(cost.metered_seconds(), cost.worker_seconds(), 1e-6);
  EXPECT_NEAR(cost.saved_by_spot(), 1.5 * cost.spent(), 1e-9 * cost.spent());
  EXPECT_EQ(cost.lost(), 0);
}

TEST(CostTest, AJobOfUnknownPriceAndPowerHasNoCost) {
  SimWorld world = World(1);
  world.rates = nullptr;
  Integral(world).Finish();
  EXPECT_FALSE(world.job.status.has_cost());
}

TEST(CostTest, TheTimeOfARankThatDiedIsLost) {
  SimWorld world = World(2);
  Integral integral(world);
  integral.RunFor(absl::Seconds(15));
  world.KillRank();
  const CostStatus cost = integral.Finish();
  const v1alpha1::LedgerStatus& ledger = world.job.status.ledger();
  EXPECT_GT(ledger.recovering(), 0.5);
  EXPECT_NEAR(cost.lost(), ledger.recovering() * 36 / 3600, 0.02 * cost.lost());
  EXPECT_NEAR(cost.energy_lost_kwh(), ledger.recovering() * 3600 / 3.6e6,
              0.02 * cost.energy_lost_kwh());
  EXPECT_NEAR(cost.spent(), integral.spent, 1e-9 * integral.spent);
}

TEST(CostTest, StepsThatAreDoneAgainAreLost) {
  SimWorld world = World(3);
  Integral integral(world);
  integral.RunFor(absl::Seconds(15));
  while (world.committed % 10 != 8) integral.RunOnce();
  world.KillEveryAgent();
  const CostStatus cost = integral.Finish();
  const v1alpha1::LedgerStatus& ledger = world.job.status.ledger();
  EXPECT_GT(ledger.rework(), 0.5);
  EXPECT_GT(cost.lost(), 0.98 * ledger.rework() * 36 / 3600);
  EXPECT_LT(cost.lost(), 1.02 * (ledger.rework() + ledger.recovering()) * 36 / 3600);
}

TEST(CostTest, APriceThatBecomesKnownCountsFromThen) {
  SimWorld world = World(4);
  bool known = false;
  world.rates = [&](const PodView&) { return known ? kSpot : WorkerRates{}; };
  Integral integral(world);
  integral.RunFor(absl::Seconds(10));
  EXPECT_FALSE(world.job.status.has_cost());
  const double before = integral.worker_seconds;
  ASSERT_GT(before, 10);
  known = true;
  const CostStatus cost = integral.Finish();
  EXPECT_NEAR(cost.spent(), integral.spent, 1e-9 * integral.spent);
  EXPECT_NEAR(cost.worker_seconds() - cost.priced_seconds(), before, 0.2);
}

TEST(CostTest, MoneyOfAnotherCurrencyIsNotAdded) {
  SimWorld world = World(5);
  Integral integral(world);
  integral.RunFor(absl::Seconds(15));
  world.ChangeLeader(false);
  world.options.currency = "EUR";
  const double before = integral.spent;
  const CostStatus cost = integral.Finish();
  EXPECT_EQ(cost.currency(), "USD");
  EXPECT_LT(cost.spent(), before * 1.001);
  EXPECT_LT(cost.priced_seconds(), cost.worker_seconds() - 30);
  EXPECT_NEAR(cost.energy_kwh(), integral.kwh, 1e-6 * integral.kwh);
}

TEST(CostTest, AJobThatHadNoPriceTakesTheCurrencyOfTheFirst) {
  SimWorld world = World(5);
  bool known = false;
  world.rates = [&](const PodView&) { return known ? kSpot : WorkerRates{.watts = 100}; };
  Integral integral(world);
  integral.RunFor(absl::Seconds(15));
  EXPECT_TRUE(world.job.status.has_cost());
  EXPECT_EQ(world.job.status.cost().currency(), "");
  known = true;
  world.ChangeLeader(false);
  world.options.currency = "EUR";
  const CostStatus cost = integral.Finish();
  EXPECT_EQ(cost.currency(), "EUR");
  EXPECT_GT(cost.spent(), 0);
}

TEST(CostTest, ItEndsWithTheJobThoughTheStatusChangesLater) {
  SimWorld world = World(6);
  Integral integral(world);
  const CostStatus cost = integral.Finish();
  integral.RunFor(absl::Seconds(30));
  world.ChangeLeader(false);
  world.job.spec.set_suspend(true);
  integral.RunFor(absl::Minutes(5));
  EXPECT_EQ(world.job.status.cost().SerializeAsString(), cost.SerializeAsString());
}

TEST(CostTest, ALongWaitForNodesCostsNothingUnderANewLeader) {
  SimWorld world = World(7);
  Integral integral(world);
  integral.RunFor(absl::Seconds(15));
  world.job.spec.set_suspend(true);
  integral.RunFor(absl::Minutes(10));
  ASSERT_EQ(world.PodsInApi(), 0);
  world.job.spec.set_suspend(false);
  int on_nodes = 0;
  while (on_nodes < 2) {
    integral.RunOnce();
    on_nodes = 0;
    world.VisitPods([&](const PodView& pod) { on_nodes += pod.node.empty() ? 0 : 1; });
  }
  world.ChangeLeader(false);
  const CostStatus cost = integral.Finish();
  EXPECT_NEAR(cost.spent(), integral.spent, 1e-6 * integral.spent);
}

// The new leader knows only what the status says, and which pods are there.
TEST(CostTest, NothingIsLostOrCountedTwiceAcrossLeaders) {
  SimWorld world = World(8);
  world.job.spec.mutable_trainer()->mutable_train()->set_steps(2000);
  Integral integral(world);
  for (int i = 0; i < 6; ++i) {
    integral.RunFor(absl::Seconds(7));
    world.ChangeLeader(i % 2 == 1);
  }
  const CostStatus cost = integral.Finish();
  EXPECT_NEAR(cost.spent(), integral.spent, 1e-6 * integral.spent);
  EXPECT_NEAR(cost.energy_kwh(), integral.kwh, 1e-6 * integral.kwh);
}

TEST(CostTest, ItIsTheIntegralOfPricesWhateverHappens) {
  for (int seed = 200; seed < 240; ++seed) {
    SCOPED_TRACE(seed);
    SimWorld world = World(seed);
    double price = 10;
    world.rates = [&](const PodView& pod) {
      return WorkerRates{.per_hour = price * (1 + pod.index), .watts = 100 * price};
    };
    Integral integral(world);
    for (int i = world.Number(1, 12); i > 0 && !IsFinished(world.job.status); --i) {
      integral.RunFor(absl::Milliseconds(world.Number(0, 4000)));
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
          price = world.Number(1, 100);
          break;
        case 4:
          world.LoseNode(world.Number(0, 2));
          break;
        case 5:
          world.job.spec.set_suspend(!world.job.spec.suspend());
          break;
      }
    }
    world.job.spec.set_suspend(false);
    const CostStatus cost = integral.Finish();
    EXPECT_NEAR(cost.spent(), integral.spent, 1e-9 * integral.spent);
    EXPECT_NEAR(cost.energy_kwh(), integral.kwh, 1e-9 * integral.kwh);
  }
}

}  // namespace
}  // namespace muster::control
