#ifndef MUSTER_CLI_SUMMARY_H_
#define MUSTER_CLI_SUMMARY_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/history.h"

namespace muster::cli {

// What is known of a run besides its steps. Empty strings and unset values are left out.
struct RunFacts {
  std::string job;
  std::string state;
  std::string message;
  int64_t steps = 0;
  double wall_seconds = 0;
  int rounds = 0;
  std::string checkpoint;
  std::string curve;
};

// How long a job took, from its recorded `start` to its `end` (InfiniteFuture when none is
// recorded). The clock that wrote both may have been stepped since, so what this process saw of the
// job, from the wall time `opened` on, is `watched`, measured; only what was before is a difference
// of recorded times. Never negative. Pure.
double JobSeconds(absl::Time start, absl::Time end, absl::Time opened, absl::Duration watched);

// The table printed at the end of a run. Pure.
std::string SummaryTable(const RunFacts& facts, const History& history);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SUMMARY_H_
