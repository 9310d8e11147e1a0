#ifndef MUSTER_CLI_SHOW_PROGRESS_LINE_H_
#define MUSTER_CLI_SHOW_PROGRESS_LINE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace muster::cli {

// The contents of a progress line. Pure formatting; nothing here reads a clock.
struct ProgressView {
  std::string state;  // as in status.state
  std::string reason;
  std::string why;  // a sentence why it does not train; replaces the reason
  int64_t step = 0;
  int64_t steps = 0;
  std::optional<double> loss;
  std::optional<double> validation_loss;
  double tokens_per_second = 0;
  double steps_per_second = 0;
  int ready = 0;
  int desired = 0;
  int64_t round = 0;
};

// Formats a line for a terminal, cut to `columns`: `[######------]  412/1000  loss 2.3141  val
// 2.4012  51.2k tok/s  ETA 1m12s`.
std::string TerminalLine(const ProgressView& view, int columns);

// Formats a line for a pipe or file: `step=412/1000 loss=2.3141 ... state=Training workers=2/2
// round=3`.
std::string PlainLine(const ProgressView& view);

// Returns three significant digits with a unit: 51.2k, 3.4M.
std::string Short(double value);
// Returns 1h02m, 3m05s, 12s, 0.4s.
std::string ShortDuration(double seconds);
// Returns 1.2 GiB, 340 MiB, 12 B.
std::string ShortBytes(double bytes);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SHOW_PROGRESS_LINE_H_
