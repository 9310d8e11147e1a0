#ifndef MUSTER_CLI_JOB_REMOVAL_H_
#define MUSTER_CLI_JOB_REMOVAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files.h"
#include "cli/job_paths.h"

namespace muster::cli {

// Removes a job from this machine: ends workers left by an earlier `muster run`, and removes its
// state. Checkpoints are never removed. Those in the job's own folder are set aside by
// SetCheckpointsAside, so that a later job of the same name does not resume from them.
// FailedPrecondition while another process runs the job.
absl::Status RemoveJob(Files& files, const JobPaths& paths);

// Sets aside the checkpoints in `directory`, so that no job resumes from them: moves its step-*
// folders into a new folder abandoned-<id> in it. In an object store, marks each as abandoned.
// Returns where they are kept; empty if there are none.
absl::StatusOr<std::string> SetCheckpointsAside(Files& files, const std::string& directory);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOB_REMOVAL_H_
