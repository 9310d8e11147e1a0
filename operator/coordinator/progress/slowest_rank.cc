#include "operator/coordinator/progress/slowest_rank.h"

#include <algorithm>

namespace muster::control {

void SlowestRankCounter::Add(int64_t round, const v1alpha1::StepReport& step) {
  if (round != round_) *this = {};
  round_ = round;
  if (!(step.mean_busy_seconds() > 0)) return;
  // A clock that was set back begins a window, too.
  const int64_t at = step.finished_at_us();
  if (since_us_ == 0 || at < since_us_) {
    slowest_.clear();
    steps_ = 0;
    mean_ = longest_ = 0;
    since_us_ = at;
  }
  ++steps_;
  ++slowest_[step.slowest_rank()];
  mean_ += step.mean_busy_seconds();
  longest_ += step.longest_busy_seconds();
  if (at - since_us_ >= kWindowUs) EndWindow(at);
}

void SlowestRankCounter::EndWindow(int64_t end_us) {
  // The first step began before the window, which begins with its end.
  const double steps = static_cast<double>(steps_);
  const double busy = mean_ * (steps - 1) / steps;
  const double seconds = static_cast<double>(end_us - since_us_) * 1e-6;
  const auto most =
      std::max_element(slowest_.begin(), slowest_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  last_ = SlowestRank{
      .round = round_,
      .rank = most->first,
      .steps = steps_,
      .share = static_cast<double>(most->second) / steps,
      .factor = std::max(1.0, longest_ / mean_),
      .busy = std::min(1.0, busy / seconds),
  };
  since_us_ = 0;
}

}  // namespace muster::control
