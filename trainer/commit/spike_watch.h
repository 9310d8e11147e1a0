#ifndef MUSTER_TRAINER_COMMIT_SPIKE_WATCH_H_
#define MUSTER_TRAINER_COMMIT_SPIKE_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::trainer {

// Judges whether a step's loss or gradient norm is far above those before: a spike. Pure; equal
// numbers give equal verdicts, so that all ranks act alike without another message.

enum class SpikeResponse {
  kOff,        // steps are not judged
  kReport,     // the step counts as all others do
  kSkip,       // the update is left out
  kLowerRate,  // that, and later steps have a lower learning rate
  kStop,       // the update is left out, and the run ends
};

struct WatchRules {
  SpikeResponse response = SpikeResponse::kOff;
  // How far above the median a spike begins, in deviations; see IsSpike().
  double deviations = 10.0;
  double rate_factor = 0.5;
  // So many spikes in a row are skipped; the next one shows that the level has changed.
  int64_t max_in_row = 3;
};

// The steps by which others are judged; part of a run's state.
struct WatchedSteps {
  static constexpr size_t kMost = 64;
  static constexpr size_t kLeast = 16;  // with fewer, no step is judged

  // Of the newest steps whose update was applied, at most kMost, oldest first. Equally long.
  std::vector<double> losses;
  std::vector<double> norms;
  int64_t in_row = 0;        // spikes up to the newest step
  int64_t total = 0;         // spikes of the run
  double rate_factor = 1.0;  // of the learning rate of later steps
  bool operator==(const WatchedSteps&) const = default;

  // Forgets the oldest step if there are kMost.
  void Add(double loss, double norm);
};

// Returns whether `value` is more than `deviations` above the median of `past`. A deviation is
// 1.4826 times the median distance from that median, which estimates the standard deviation of a
// normal distribution (Rousseeuw and Croux, 1993, section 1), and at least 2 % of the median.
// `past` must not be empty.
bool IsSpike(const std::vector<double>& past, double value, double deviations);

// Returns what is far above the steps before, in a sentence with the numbers; "" if nothing is, or
// if there are too few steps to judge by.
std::string WhySpike(const WatchedSteps& past, double loss, double norm, double deviations);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_SPIKE_WATCH_H_
