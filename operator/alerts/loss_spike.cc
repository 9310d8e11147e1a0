#include "operator/alerts/loss_spike.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

namespace muster::control {
namespace {

struct Median {
  double value = 0;
  size_t steps = 0;
};

// Returns the median of the finite losses of the steps before `index`; nullopt if they are too few.
std::optional<Median> MedianBefore(const std::vector<TrainedStep>& steps, size_t index) {
  const size_t from = index - std::min(index, TrainingHistory::kStepsBefore);
  std::vector<double> losses;
  losses.reserve(index - from);
  for (size_t i = from; i < index; ++i) {
    if (steps[i].loss && std::isfinite(*steps[i].loss)) losses.push_back(*steps[i].loss);
  }
  if (losses.size() < kFewestSteps) return std::nullopt;
  const auto middle = losses.begin() + static_cast<std::ptrdiff_t>(losses.size() / 2);
  std::nth_element(losses.begin(), middle, losses.end());
  return Median{*middle, losses.size()};
}

// Returns a sentence about the step if its loss is a spike.
std::optional<std::string> DescribeSpike(double factor, const std::vector<TrainedStep>& steps,
                                         size_t index) {
  const TrainedStep& step = steps[index];
  if (!step.loss) return std::nullopt;
  if (!std::isfinite(*step.loss)) {
    return absl::StrFormat("the loss of step %d is not finite", step.step);
  }
  const std::optional<Median> median = MedianBefore(steps, index);
  if (!median || median->value <= 0 || *step.loss <= factor * median->value) return std::nullopt;
  return absl::StrFormat(
      "the loss of step %d is %.6g, %.3g times the median of the %d steps before "
      "it, %.6g",
      step.step, *step.loss, *step.loss / median->value, median->steps, median->value);
}

}  // namespace

Finding CheckLossSpike(double factor, const TrainingHistory& history, size_t first_new, bool firing,
                       LossSpikeMemory& memory) {
  std::optional<std::string> first;
  for (size_t i = first_new; i < history.steps.size(); ++i) {
    std::optional<std::string> spike = DescribeSpike(factor, history.steps, i);
    memory.calm = spike ? 0 : memory.calm + 1;
    if (spike && !first) first = std::move(spike);
  }
  if (!firing && first) return {Finding::Change::kFires, *std::move(first)};
  if (!firing || memory.calm < kCalmSteps || history.steps.empty()) return {};
  return {Finding::Change::kResolves,
          absl::StrFormat("%d steps in a row were without a spike, up to step %d", memory.calm,
                          history.steps.back().step)};
}

}  // namespace muster::control
