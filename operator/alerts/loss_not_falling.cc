#include "operator/alerts/loss_not_falling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
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

}  // namespace muster::control
