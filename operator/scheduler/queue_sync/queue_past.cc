#include "operator/scheduler/queue_sync/queue_past.h"

#include <cmath>

#include "operator/core/state/conditions.h"
#include "operator/queue/book/queue_from_spec.h"

namespace muster::control {
namespace {

// CPU amounts are counted in thousandths of a core; the status has cores.
double UnitOf(const std::string& resource) { return resource == "cpu" ? 1000 : 1; }

}  // namespace

void PutPast(absl::Time now, const QueueBook::QueueView& queue,
             v1alpha1::TrainingQueueStatus& status) {
  for (const auto& [resource, amount] : queue.past) {
    const double shown = std::round(amount / UnitOf(resource) * 1e6) / 1e6;
    if (shown <= 0) continue;
    v1alpha1::QueuePastUse& past = *status.add_past();
    past.set_resource(resource);
    past.set_amount(shown);
  }
  if (status.past_size() > 0) status.set_past_time(FormatWall(now));
}

std::map<std::string, double> PastOf(const v1alpha1::TrainingQueueStatus& status, absl::Time now,
                                     absl::Duration half_life) {
  std::map<std::string, double> past;
  const absl::Time then = ParseWall(status.past_time());
  if (then == absl::InfinitePast()) return past;
  for (const v1alpha1::QueuePastUse& one : status.past()) {
    past[one.resource()] = one.amount() * UnitOf(one.resource());
  }
  std::map<std::string, double> used;
  for (const v1alpha1::QueueAmount& one : status.used()) {
    const auto amount = AmountOf(one.resource(), one.amount());
    if (!amount.ok()) continue;
    used[one.resource()] = static_cast<double>(*amount);
    past.emplace(one.resource(), 0);
  }
  for (auto& [resource, amount] : past) {
    amount = DecayedMean(amount, used[resource], now - then, half_life);
  }
  return past;
}

}  // namespace muster::control
