#include "trainer/commit/spike_watch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

constexpr double kLeastShareOfMedian = 0.02;
constexpr double kToStandardDeviation = 1.4826;
// Gradient norms of sound runs have a long tail, and losses have not.
constexpr double kForNorms = 2.0;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2.0;
}

struct Level {
  double median = 0.0;
  double deviation = 0.0;

  double Of(double value) const { return (value - median) / deviation; }
};

Level LevelOf(const std::vector<double>& past) {
  const double median = Median(past);
  std::vector<double> distances;
  for (const double value : past) distances.push_back(std::abs(value - median));
  return {median, std::max(kToStandardDeviation * Median(std::move(distances)),
                           kLeastShareOfMedian * std::abs(median))};
}

// A level of zeros has no deviation: each value above it is a spike.
bool IsAbove(const Level& level, double value, double deviations) {
  return value - level.median > deviations * level.deviation;
}

}  // namespace

void WatchedSteps::Add(double loss, double norm) {
  if (losses.size() >= kMost) {
    losses.erase(losses.begin());
    norms.erase(norms.begin());
  }
  losses.push_back(loss);
  norms.push_back(norm);
}

bool IsSpike(const std::vector<double>& past, double value, double deviations) {
  return IsAbove(LevelOf(past), value, deviations);
}

std::string WhySpike(const WatchedSteps& past, double loss, double norm, double deviations) {
  if (past.losses.size() < WatchedSteps::kLeast) return "";
  std::string why;
  const auto judge = [&](const char* name, const std::vector<double>& values, double value,
                         double most) {
    const Level level = LevelOf(values);
    if (!IsAbove(level, value, most)) return;
    absl::StrAppend(&why, why.empty() ? "" : ", and ", name, " ", value, " is ", level.Of(value),
                    " deviations above ", level.median);
  };
  judge("loss", past.losses, loss, deviations);
  judge("gradient norm", past.norms, norm, kForNorms * deviations);
  if (why.empty()) return "";
  return absl::StrCat(why, ", the median of ", past.losses.size(), " steps");
}

}  // namespace muster::trainer
