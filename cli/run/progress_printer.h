#ifndef MUSTER_CLI_RUN_PROGRESS_PRINTER_H_
#define MUSTER_CLI_RUN_PROGRESS_PRINTER_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "cli/show/progress_line.h"

namespace muster::cli {

// Prints a run's progress to stderr: redraws one line on a terminal; elsewhere prints a line every
// few seconds and on a change. Not thread-safe.
class ProgressPrinter {
 public:
  // If `quiet`, nothing is printed.
  explicit ProgressPrinter(bool quiet);

  // `now` is monotonic.
  void Show(const ProgressView& view, absl::Time now);
  // Called before anything else is printed.
  void Clear();

 private:
  const bool quiet_;
  const bool terminal_;
  bool drawn_ = false;
  absl::Time last_ = absl::InfinitePast();
  std::string last_state_;
  std::string last_why_;
  int64_t last_step_ = -1;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_PROGRESS_PRINTER_H_
