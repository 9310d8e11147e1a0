#ifndef MUSTER_CLI_JOBS_SUMMARY_H_
#define MUSTER_CLI_JOBS_SUMMARY_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/jobs/history.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::cli {

// The facts about a run besides its steps. Empty strings and unset values are left out.
struct RunFacts {
  std::string job;
  std::string state;
  int64_t steps = 0;
  double wall_seconds = 0;
  int rounds = 0;
  std::string checkpoint;
  std::string curve;
  // Says in the words of the job's status how the ranks spent their time.
  v1alpha1::LedgerStatus ledger;
};

// Returns the duration of a job from its recorded `start` to its `end` (InfiniteFuture if none is
// recorded). The wall clock may have been stepped meanwhile, so the part since `opened`, the wall
// time at which this process began to watch, is taken from the measured `watched`; only the part
// before is a difference of recorded times. Never negative. Pure.
double JobSeconds(absl::Time start, absl::Time end, absl::Time opened, absl::Duration watched);

// Returns the table printed at the end of a run. Pure.
std::string SummaryTable(const RunFacts& facts, const History& history);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_SUMMARY_H_
