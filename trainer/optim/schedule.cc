#include "trainer/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace muster::trainer {
namespace {

// Returns how much of the way from step `begin` to the last step lies before `step`, from 0 to 1.
double ShareOf(const Schedule& schedule, int64_t begin, int64_t step) {
  const int64_t span = std::max<int64_t>(1, schedule.steps - begin);
  return std::clamp(static_cast<double>(step - begin) / static_cast<double>(span), 0.0, 1.0);
}

double ShareOfDecay(const Schedule& schedule, int64_t step) {
  return ShareOf(schedule, schedule.warmup_steps, step);
}

// Returns the rate at which `left` of the way from the final rate up to the peak is left.
double Between(const Schedule& schedule, double left) {
  return schedule.peak * (schedule.final_fraction + (1.0 - schedule.final_fraction) * left);
}

}  // namespace

double ConstantRate(const Schedule& schedule, int64_t) { return schedule.peak; }

double LinearRate(const Schedule& schedule, int64_t step) {
  return Between(schedule, 1.0 - ShareOfDecay(schedule, step));
}

double CosineRate(const Schedule& schedule, int64_t step) {
  const double angle = std::numbers::pi * ShareOfDecay(schedule, step);
  return Between(schedule, 0.5 * (1.0 + std::cos(angle)));
}

double WsdRate(const Schedule& schedule, int64_t step) {
  const int64_t begin = std::max(schedule.warmup_steps, schedule.steps - schedule.decay_steps);
  return Between(schedule, 1.0 - ShareOf(schedule, begin, step));
}

double InverseSqrtRate(const Schedule& schedule, int64_t step) {
  const auto warmup = static_cast<double>(std::max<int64_t>(1, schedule.warmup_steps));
  return schedule.peak * std::sqrt(warmup / static_cast<double>(step));
}

double Schedule::At(int64_t step) const {
  if (step > warmup_steps) return rate(*this, step);
  return peak * static_cast<double>(step) / static_cast<double>(std::max<int64_t>(1, warmup_steps));
}

}  // namespace muster::trainer
