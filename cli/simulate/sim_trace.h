#ifndef MUSTER_CLI_SIMULATE_SIM_TRACE_H_
#define MUSTER_CLI_SIMULATE_SIM_TRACE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/simulate/sim_cluster.h"
#include "operator/queue/book/queued_job.h"

namespace muster::cli {

// A job of a trace.
struct SimJob {
  // The job as submitted: `created` is the time of submission, `runtime` its own estimate.
  control::QueuedJob job;
  std::string job_class;  // wait times are reported by class
  // The real training time with all its workers; it takes longer with fewer.
  absl::Duration duration;
  // Zero: it saves no checkpoints, and starts over when it is stopped.
  absl::Duration checkpoint_every;
};

struct SimTrace {
  std::vector<SimJob> jobs;  // by time of submission
  // Only in a generator's file, and even then not always with nodes.
  std::optional<SimCluster> cluster;
};

// Parses a trace, detected from its beginning: CSV with a header line, or the YAML of Kueue's
// performance generator (test/performance/scheduler), which also defines queues and, with
// `topology`, nodes. docs/queues.md describes both. InvalidArgument names file, line or field, and
// problem.
absl::StatusOr<SimTrace> ParseTrace(absl::string_view text, absl::string_view file);

absl::StatusOr<SimTrace> ParseCsvTrace(absl::string_view text, absl::string_view file);
absl::StatusOr<SimTrace> ParseGenerator(absl::string_view yaml, absl::string_view file);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_SIM_TRACE_H_
