#ifndef MUSTER_CLI_SIMULATE_SIM_TRACE_H_
#define MUSTER_CLI_SIMULATE_SIM_TRACE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/simulate/sim_cluster.h"
#include "operator/queue/queued_job.h"

namespace muster::cli {

// A job of a trace.
struct SimJob {
  // As it is submitted: `created` is when, `runtime` what it says of itself.
  control::QueuedJob job;
  std::string job_class;  // what waits are told by
  // How long it really trains with all its workers; longer with fewer.
  absl::Duration duration;
  // Zero: it saves nothing, and begins anew when it is stopped.
  absl::Duration checkpoint_every;
};

struct SimTrace {
  std::vector<SimJob> jobs;  // by time of submission
  // Only a generator's file has these, and not all of them have nodes.
  std::optional<SimCluster> cluster;
};

// A trace, by its beginning: CSV with a header line, or the YAML of Kueue's performance generator
// (test/performance/scheduler), which also makes queues and, with `topology`, nodes. docs/queues.md
// describes both. InvalidArgument names the file, the line or field, and what is wrong.
absl::StatusOr<SimTrace> ParseTrace(absl::string_view text, absl::string_view file);

absl::StatusOr<SimTrace> ParseCsvTrace(absl::string_view text, absl::string_view file);
absl::StatusOr<SimTrace> ParseGenerator(absl::string_view yaml, absl::string_view file);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_SIM_TRACE_H_
