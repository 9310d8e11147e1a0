#include "operator/alerts/throughput_drop.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_format.h"

namespace muster::control {
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

}  // namespace muster::control
