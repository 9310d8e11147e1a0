#ifndef MUSTER_CLI_JOB_REMOVAL_H_
#define MUSTER_CLI_JOB_REMOVAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files.h"
#include "cli/job_paths.h"

namespace muster::cli {

// Takes a job off this machine: ends what an earlier `muster run` left of its workers, and removes
// its state. Checkpoints are never removed. Those in the job's own folder are set aside as
// SetCheckpointsAside does, so that a later job of the name does not take them for its own.
// FailedPrecondition while another process runs the job.
absl::Status RemoveJob(Files& files, const JobPaths& paths);

// Moves what a job could go on from out of its sight: the step-* folders of `directory` go into a
// new folder abandoned-<id> in it, which is named; empty when there are none.
absl::StatusOr<std::string> SetCheckpointsAside(Files& files, const std::string& directory);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOB_REMOVAL_H_
