#include "operator/alerts/alert_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::control {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// Returns the lowest of the first `count` validations and of those before them; kNone if none of
// them is finite.
double Lowest(const TrainingHistory& history, size_t count) {
  double lowest = history.best_before.value_or(kNone);
  for (size_t i = 0; i < count; ++i) {
    const double loss = history.validations[i].loss;
    if (std::isfinite(loss)) lowest = std::min(lowest, loss);
  }
  return lowest;
}

Finding LookForNewMinimum(const TrainingHistory& history, LossNotFallingMemory& memory) {
  if (!memory.minimum) {
    const double lowest = Lowest(history, history.validations.size());
    if (!history.validations.empty()) memory.minimum = lowest;
    return {};
  }
  for (const ValidationPoint& point : history.validations) {
    if (!(point.loss < *memory.minimum)) continue;
    memory.minimum.reset();
    return {Finding::Change::kResolves,
            absl::StrFormat("the validation of step %d brought a new minimum, %.6g", point.step,
                            point.loss)};
  }
  return {};
}

}  // namespace

Finding CheckLossNotFalling(int evaluations, const TrainingHistory& history, bool firing,
                            LossNotFallingMemory& memory) {
  if (firing) return LookForNewMinimum(history, memory);
  const size_t newest = static_cast<size_t>(std::max(evaluations, 1));
  const std::vector<ValidationPoint>& points = history.validations;
  const size_t known = points.size() + (history.best_before ? 1 : 0);
  if (points.size() < newest || known == newest) return {};
  const double lowest = Lowest(history, points.size() - newest);
  for (size_t i = points.size() - newest; i < points.size(); ++i) {
    if (points[i].loss < lowest) return {};
  }
  memory.minimum = lowest;
  const ValidationPoint& last = points.back();
  const std::string minimum =
      lowest == kNone ? "none was finite before them" : absl::StrFormat("it is still %.6g", lowest);
  return {Finding::Change::kFires,
          absl::StrFormat("the newest %d validations brought no new minimum of the validation "
                          "loss: %s, and that of step %d is %.6g",
                          newest, minimum, last.step, last.loss)};
}

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

namespace {

void OpenWindow(int64_t at_us, ThroughputDropMemory& memory) {
  memory.begin_us = at_us;
  memory.tokens = 0;
}

// Adds a step to the open window. Returns the window's speed in tokens per second if the step
// closes it.
std::optional<double> AddStep(const TrainedStep& step, absl::Duration window,
                              ThroughputDropMemory& memory) {
  const bool set_back = memory.begin_us && step.finished_at_us < memory.last_us;
  memory.last_us = step.finished_at_us;
  if (!memory.begin_us || set_back) {
    OpenWindow(step.finished_at_us, memory);
    return std::nullopt;
  }
  memory.tokens += static_cast<double>(step.tokens);
  const absl::Duration took = absl::Microseconds(step.finished_at_us - *memory.begin_us);
  if (took < window || took <= absl::ZeroDuration()) return std::nullopt;
  return memory.tokens / absl::ToDoubleSeconds(took);
}

std::string Figures(double speed, double best, int64_t step) {
  return absl::StrFormat(
      "%.6g tokens per second up to step %d, and the best speed of the round is "
      "%.6g",
      speed, step, best);
}

}  // namespace

Finding CheckThroughputDrop(const ThroughputDropRule& rule, const TrainingHistory& history,
                            size_t first_new, bool gap, bool firing, ThroughputDropMemory& memory) {
  if (memory.round != history.round) {
    memory = ThroughputDropMemory{};
    memory.round = history.round;
  }
  if (gap) memory.begin_us.reset();
  const absl::Duration window = std::min(kSpeedWindow, rule.hold);
  Finding finding;
  for (size_t i = first_new; i < history.steps.size(); ++i) {
    const TrainedStep& step = history.steps[i];
    const std::optional<double> speed = AddStep(step, window, memory);
    if (!speed) continue;
    const absl::Duration took = absl::Microseconds(step.finished_at_us - *memory.begin_us);
    OpenWindow(step.finished_at_us, memory);
    memory.best = std::max(memory.best, *speed);
    const bool slow = *speed < rule.factor * memory.best;
    memory.slow = slow ? memory.slow + took : absl::ZeroDuration();
    memory.fast = slow ? absl::ZeroDuration() : memory.fast + took;
    if (finding.change != Finding::Change::kNone) continue;
    const std::string figures = Figures(*speed, memory.best, step.step);
    if (!firing && memory.slow >= rule.hold) {
      finding = {Finding::Change::kFires,
                 absl::StrFormat("training is slow for %s: %s", absl::FormatDuration(memory.slow),
                                 figures)};
    } else if (firing && memory.fast >= rule.hold) {
      finding = {Finding::Change::kResolves,
                 absl::StrFormat("training is fast again for %s: %s",
                                 absl::FormatDuration(memory.fast), figures)};
    }
  }
  return finding;
}

StalledFinding CheckStalled(absl::Duration hold, const StalledView& view, bool firing) {
  if (firing) {
    if (!view.has_new_step) return {};
    return {{Finding::Change::kResolves, "a step was reported again"}};
  }
  if (view.running_since == absl::InfiniteFuture()) return {};
  const absl::Time since = std::max(view.running_since, view.stepped_at);
  if (view.now < since + hold) return {{}, since + hold};
  const absl::Duration silent = absl::Trunc(view.now - since, absl::Seconds(1));
  return {{Finding::Change::kFires,
           absl::StrCat("no step was reported for ", absl::FormatDuration(silent))}};
}

}  // namespace muster::control
