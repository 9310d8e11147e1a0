#include "operator/core/state/cost_book.h"

#include <algorithm>

namespace muster::control {
namespace {

using v1alpha1::CostStatus;

constexpr double kSecondsPerHour = 3600;
constexpr double kJoulesPerKwh = 3.6e6;

double MoneyOf(const CostRates& rates, double seconds) {
  return rates.per_hour * seconds / kSecondsPerHour;
}

double KwhOf(const CostRates& rates, double seconds) {
  return rates.watts * seconds / kJoulesPerKwh;
}

void AddLost(CostStatus& book, double money, double kwh) {
  book.set_lost(book.lost() + money);
  book.set_energy_lost_kwh(book.energy_lost_kwh() + kwh);
}

}  // namespace

CostRates RatesOf(const WorkerRates& worker) {
  CostRates rates{.workers = 1};
  if (worker.per_hour) {
    rates.priced = 1;
    rates.per_hour = *worker.per_hour;
    const double on_demand = worker.on_demand_per_hour.value_or(rates.per_hour);
    rates.saved_per_hour = std::max(0.0, on_demand - rates.per_hour);
  }
  if (worker.watts) {
    rates.metered = 1;
    rates.watts = *worker.watts;
  }
  return rates;
}

CostRates operator+(const CostRates& a, const CostRates& b) {
  return {.workers = a.workers + b.workers,
          .priced = a.priced + b.priced,
          .metered = a.metered + b.metered,
          .per_hour = a.per_hour + b.per_hour,
          .saved_per_hour = a.saved_per_hour + b.saved_per_hour,
          .watts = a.watts + b.watts};
}

CostRates operator*(const CostRates& rates, double factor) {
  return {.workers = rates.workers * factor,
          .priced = rates.priced * factor,
          .metered = rates.metered * factor,
          .per_hour = rates.per_hour * factor,
          .saved_per_hour = rates.saved_per_hour * factor,
          .watts = rates.watts * factor};
}

void Charge(CostStatus& book, UnreportedCost& unreported, const GangRates& rates, double seconds) {
  if (!(seconds > 0)) return;
  const CostRates all = rates.lost + rates.unreported + rates.others;
  book.set_spent(book.spent() + MoneyOf(all, seconds));
  book.set_saved_by_spot(book.saved_by_spot() + all.saved_per_hour * seconds / kSecondsPerHour);
  book.set_energy_kwh(book.energy_kwh() + KwhOf(all, seconds));
  book.set_worker_seconds(book.worker_seconds() + all.workers * seconds);
  book.set_priced_seconds(book.priced_seconds() + all.priced * seconds);
  book.set_metered_seconds(book.metered_seconds() + all.metered * seconds);
  AddLost(book, MoneyOf(rates.lost, seconds), KwhOf(rates.lost, seconds));
  unreported.money += MoneyOf(rates.unreported, seconds);
  unreported.kwh += KwhOf(rates.unreported, seconds);
}

void Settle(CostStatus& book, UnreportedCost& unreported, const ReportedTime& reported) {
  const double lost = std::min(reported.lost, reported.filed);
  AddLost(book, unreported.money * lost, unreported.kwh * lost);
  unreported.money *= 1 - reported.filed;
  unreported.kwh *= 1 - reported.filed;
}

UnreportedCost UnreportedPart(const CostStatus& book, double worker_seconds) {
  if (!(worker_seconds > 0) || !(book.worker_seconds() > 0)) return {};
  const double part = worker_seconds / book.worker_seconds();
  // Never more than what is not lost already.
  return {.money = std::clamp(part * book.spent(), 0.0, std::max(0.0, book.spent() - book.lost())),
          .kwh = std::clamp(part * book.energy_kwh(), 0.0,
                            std::max(0.0, book.energy_kwh() - book.energy_lost_kwh()))};
}

}  // namespace muster::control
