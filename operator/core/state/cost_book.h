#ifndef MUSTER_OPERATOR_CORE_STATE_COST_BOOK_H_
#define MUSTER_OPERATOR_CORE_STATE_COST_BOOK_H_

#include "operator/core/state/ledger_book.h"
#include "operator/core/state/view.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The arithmetic of a job's money and energy, status.cost. Pure.
namespace muster::control {

// The price and the power of some workers together. A worker whose price or power is not known adds
// nothing to the sums that need it.
struct CostRates {
  double workers = 0;
  double priced = 0;   // workers whose price is known
  double metered = 0;  // workers whose power is known
  double per_hour = 0;
  double saved_per_hour = 0;  // on-demand prices less those paid, on spot nodes
  double watts = 0;
};
CostRates RatesOf(const WorkerRates& worker);
CostRates operator+(const CostRates& a, const CostRates& b);
CostRates operator*(const CostRates& rates, double factor);

// The rates of a job's workers by what their time goes into: as the ledger files it.
struct GangRates {
  CostRates lost;        // recovering
  CostRates unreported;  // not known before steps are reported
  CostRates others;
};

// The parts of `spent` and `energyKwh` for time that the ledger has as unreported.
struct UnreportedCost {
  double money = 0;
  double kwh = 0;
};

// Adds what `seconds` at these rates took.
void Charge(v1alpha1::CostStatus& book, UnreportedCost& unreported, const GangRates& rates,
            double seconds);

// Moves out of `unreported` what the ledger has filed meanwhile; its lost part is lost.
void Settle(v1alpha1::CostStatus& book, UnreportedCost& unreported, const ReportedTime& reported);

// Returns the part of the book that belongs to so many worker-seconds of unreported time, at the
// mean of all that the book counts: only the book is kept across operators.
UnreportedCost UnreportedPart(const v1alpha1::CostStatus& book, double worker_seconds);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_COST_BOOK_H_
