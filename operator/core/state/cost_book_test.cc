#include "operator/core/state/cost_book.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "operator/core/state/ledger_book.h"

namespace muster::control {
namespace {

using v1alpha1::CostStatus;

GangRates Training(const std::vector<WorkerRates>& workers) {
  GangRates rates;
  for (const WorkerRates& worker : workers) rates.unreported = rates.unreported + RatesOf(worker);
  return rates;
}

TEST(CostBookTest, TwoWorkersForAnHourCostTheirPricesAndDrawTheirPower) {
  CostStatus book;
  UnreportedCost unreported;
  Charge(book, unreported, Training({{.per_hour = 2, .watts = 500}, {.per_hour = 3, .watts = 700}}),
         3600);
  EXPECT_DOUBLE_EQ(book.spent(), 5);
  EXPECT_DOUBLE_EQ(book.energy_kwh(), 1.2);
  EXPECT_EQ(book.saved_by_spot(), 0);
  EXPECT_DOUBLE_EQ(book.worker_seconds(), 7200);
  EXPECT_DOUBLE_EQ(book.priced_seconds(), 7200);
  EXPECT_DOUBLE_EQ(book.metered_seconds(), 7200);
  EXPECT_DOUBLE_EQ(unreported.money, 5);
  EXPECT_DOUBLE_EQ(unreported.kwh, 1.2);
}

TEST(CostBookTest, TimeOfUnknownPriceIsCountedAndCostsNothing) {
  CostStatus book;
  UnreportedCost unreported;
  Charge(book, unreported, Training({{.per_hour = 2}, {.watts = 100}}), 1800);
  EXPECT_DOUBLE_EQ(book.spent(), 1);
  EXPECT_DOUBLE_EQ(book.energy_kwh(), 0.05);
  EXPECT_DOUBLE_EQ(book.worker_seconds(), 3600);
  EXPECT_DOUBLE_EQ(book.priced_seconds(), 1800);
  EXPECT_DOUBLE_EQ(book.metered_seconds(), 1800);
}

TEST(CostBookTest, OnlySpotNodesThatAreCheaperSave) {
  CostStatus book;
  UnreportedCost unreported;
  Charge(book, unreported,
         Training({{.per_hour = 1, .on_demand_per_hour = 3},
                   {.per_hour = 5, .on_demand_per_hour = 4},
                   {.on_demand_per_hour = 9},
                   {.per_hour = 2}}),
         3600);
  EXPECT_DOUBLE_EQ(book.saved_by_spot(), 2);
}

TEST(CostBookTest, RecoveringIsLostAtOnceAndReworkOnceItIsReported) {
  CostStatus book;
  UnreportedCost unreported;
  GangRates rates;
  rates.lost = RatesOf({.per_hour = 4, .watts = 1000});
  Charge(book, unreported, rates, 900);
  EXPECT_DOUBLE_EQ(book.lost(), 1);
  EXPECT_DOUBLE_EQ(book.energy_lost_kwh(), 0.25);
  Charge(book, unreported, Training({{.per_hour = 4, .watts = 1000}}), 900);
  EXPECT_DOUBLE_EQ(book.lost(), 1);
  // Half of the time is reported, of that half a fifth was done before.
  Settle(book, unreported, {.filed = 0.5, .lost = 0.1});
  EXPECT_DOUBLE_EQ(book.lost(), 1.1);
  EXPECT_DOUBLE_EQ(book.energy_lost_kwh(), 0.275);
  EXPECT_DOUBLE_EQ(unreported.money, 0.5);
  EXPECT_DOUBLE_EQ(unreported.kwh, 0.125);
  EXPECT_DOUBLE_EQ(book.spent(), 2);
}

TEST(CostBookTest, ClocksThatWereSetBackChargeNothing) {
  CostStatus book;
  UnreportedCost unreported;
  Charge(book, unreported, Training({{.per_hour = 2}}), -5);
  EXPECT_EQ(book.spent(), 0);
  EXPECT_EQ(book.worker_seconds(), 0);
}

TEST(CostBookTest, TheUnreportedPartOfABookIsAtItsMeanAndNeverAlsoLost) {
  CostStatus book;
  book.set_worker_seconds(100);
  book.set_spent(50);
  book.set_energy_kwh(10);
  EXPECT_DOUBLE_EQ(UnreportedPart(book, 20).money, 10);
  EXPECT_DOUBLE_EQ(UnreportedPart(book, 20).kwh, 2);
  book.set_lost(45);
  EXPECT_DOUBLE_EQ(UnreportedPart(book, 20).money, 5);
  EXPECT_EQ(UnreportedPart(book, 0).money, 0);
  EXPECT_EQ(UnreportedPart(CostStatus(), 20).money, 0);
}

TEST(ReportedTest, TellsWhatWasFiledAndWhatOfItWasLost) {
  v1alpha1::LedgerStatus before;
  before.set_unreported(100);
  before.set_rework(7);
  v1alpha1::LedgerStatus after = before;
  after.set_unreported(40);
  after.set_rework(12);
  after.set_recovering(10);
  after.set_productive(45);
  EXPECT_DOUBLE_EQ(Reported(before, after).filed, 0.6);
  EXPECT_DOUBLE_EQ(Reported(before, after).lost, 0.15);
  EXPECT_EQ(Reported(before, before).filed, 0);
  EXPECT_EQ(Reported(v1alpha1::LedgerStatus(), v1alpha1::LedgerStatus()).filed, 1);
}

// Random gangs whose workers come, go, change their prices and are reported in parts; each second
// of each worker is added up apart.
TEST(CostBookTest, SumsEqualTheIntegralOverAnySchedule) {
  for (int seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto number = [&](double low, double high) {
      return std::uniform_real_distribution<>(low, high)(random);
    };
    const auto maybe = [&](double value) {
      return random() % 4 == 0 ? std::nullopt : std::optional<double>(value);
    };
    CostStatus book;
    UnreportedCost unreported;
    double spent = 0;
    double saved = 0;
    double joules = 0;
    double priced = 0;
    double recovering = 0;
    for (int period = 0; period < 50; ++period) {
      const double seconds = number(0, 300);
      GangRates rates;
      for (int i = static_cast<int>(random() % 6); i > 0; --i) {
        const WorkerRates worker = {.per_hour = maybe(number(0, 40)),
                                    .on_demand_per_hour = maybe(number(0, 60)),
                                    .watts = maybe(number(0, 8000))};
        CostRates* const parts[] = {&rates.lost, &rates.unreported, &rates.others};
        CostRates& part = *parts[random() % 3];
        part = part + RatesOf(worker);
        const double paid = worker.per_hour.value_or(0) * seconds / 3600;
        spent += paid;
        if (&part == &rates.lost) recovering += paid;
        if (worker.per_hour) priced += seconds;
        if (worker.per_hour && worker.on_demand_per_hour.value_or(0) > *worker.per_hour) {
          saved += *worker.on_demand_per_hour * seconds / 3600 - paid;
        }
        joules += worker.watts.value_or(0) * seconds;
      }
      Charge(book, unreported, rates, seconds);
      const double filed = number(0, 1);
      Settle(book, unreported, {.filed = filed, .lost = filed * number(0, 1)});
    }
    EXPECT_NEAR(book.spent(), spent, 1e-9 * (1 + spent));
    EXPECT_NEAR(book.saved_by_spot(), saved, 1e-9 * (1 + saved));
    EXPECT_NEAR(book.energy_kwh(), joules / 3.6e6, 1e-9 * (1 + joules));
    EXPECT_NEAR(book.priced_seconds(), priced, 1e-6);
    EXPECT_GE(book.lost(), recovering * (1 - 1e-9));
    EXPECT_LE(book.lost() + unreported.money, spent * (1 + 1e-9));
    EXPECT_LE(book.energy_lost_kwh() + unreported.kwh, book.energy_kwh() * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace muster::control
