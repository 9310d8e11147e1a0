#ifndef MUSTER_CLI_JOBS_AGENT_RECORDS_H_
#define MUSTER_CLI_JOBS_AGENT_RECORDS_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/files/files.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/history.h"
#include "operator/api/training_job.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::cli {

// The reports of a job's agents after their `muster run` was killed. They wrote them down at their
// end.
struct AgentRecords {
  std::vector<v1alpha1::StepReport> steps;          // by attempt and step
  std::optional<v1alpha1::CheckpointReport> saved;  // the newest
};

// Reads the records of all pods. A file that cannot be read is passed over.
AgentRecords ReadAgentRecords(Files& files, const JobPaths& paths);
// Removes them once they are in the history.
absl::Status RemoveAgentRecords(Files& files, const JobPaths& paths);

// Adds the steps that the history does not have yet.
absl::Status AddTo(History& history, const AgentRecords& records);
// Shows in the job's status, as far as people read it, what the records say.
void ShowIn(control::TrainingJob& job, const AgentRecords& records);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_AGENT_RECORDS_H_
