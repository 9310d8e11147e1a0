#ifndef MUSTER_TRAINER_COMMIT_SPIKE_WATCH_H_
#define MUSTER_TRAINER_COMMIT_SPIKE_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::trainer {

// Judges whether a step is a spike: its loss or gradient norm is far above those of the steps
// before. Pure: equal numbers give equal verdicts, so all ranks act alike without another message.

enum class SpikeResponse {
  kOff,        // steps are not judged
  kReport,     // the spike is reported, and the update is applied
  kSkip,       // the update is left out
  kLowerRate,  // as kSkip, and later steps have a lower learning rate
  kStop,       // the update is left out, and the run ends
};

struct WatchRules {
  SpikeResponse response = SpikeResponse::kOff;
  // How far above the median a spike begins, in deviations; see IsSpike().
  double deviations = 10.0;
  // With kLowerRate, each skipped spike multiplies the learning rate by this.
  double rate_factor = 0.5;
  // The most spikes in a row that are skipped. The next one is applied, because it shows that the
  // level has changed.
  int64_t max_in_row = 3;
};

// The past steps that a new step is compared with; part of a run's state.
struct WatchedSteps {
  static constexpr size_t kMost = 64;
  static constexpr size_t kLeast = 16;  // with fewer, no step is judged

  // The losses and the gradient norms of the newest steps whose update was applied: at most kMost,
  // oldest first. Both lists are equally long.
  std::vector<double> losses;
  std::vector<double> norms;
  int64_t in_row = 0;        // unbroken row of spikes up to the newest step
  int64_t total = 0;         // spikes in the whole run
  double rate_factor = 1.0;  // multiplies the learning rate of later steps
  bool operator==(const WatchedSteps&) const = default;

  // Adds a step, and forgets the oldest one if there are kMost already.
  void Add(double loss, double norm);
};

// Returns whether `value` is more than `deviations` above the median of `past`. A deviation is
// 1.4826 times the median distance from that median, which estimates the standard deviation of a
// normal distribution (Rousseeuw and Croux, 1993, section 1), and at least 2 % of the median.
// `past` must not be empty.
bool IsSpike(const std::vector<double>& past, double value, double deviations);

// Returns a sentence with the numbers that says what is far above the past steps: a loss by
// `deviations`, a gradient norm by twice as many. Returns "" if the step is not a spike, or if
// there are fewer than kLeast past steps.
std::string WhySpike(const WatchedSteps& past, double loss, double norm, double deviations);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_SPIKE_WATCH_H_
