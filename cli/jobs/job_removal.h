#ifndef MUSTER_CLI_JOBS_JOB_REMOVAL_H_
#define MUSTER_CLI_JOBS_JOB_REMOVAL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files.h"
#include "cli/flags/job_paths.h"

namespace muster::cli {

// Removes a job from this machine: ends workers left by an earlier `muster run`, and removes its
// state. Checkpoints are never removed. Those in the job's own folder are set aside by
// SetCheckpointsAside, so that a later job of the same name does not resume from them.
// Returns the folder in which those are kept now, or "" if the job's folder had none.
// FailedPrecondition while another process runs the job. After an error the job is whole, but no
// worker of it runs.
absl::StatusOr<std::string> RemoveJob(Files& files, const JobPaths& paths);

// The parts of RemoveJob, for a removal that may still be taken back.
//
// Ends the workers and moves the job's folder to a place under the root that no command lists, in
// one rename. Returns the place.
absl::StatusOr<std::string> MoveJobAway(Files& files, const JobPaths& paths);
// Moves it back. The state that has been written to the job's folder since is removed.
// FailedPrecondition if checkpoints have been written there. OK if it was moved back before.
absl::Status PutJobBack(Files& files, const JobPaths& paths, const std::string& moved_to);
// Removes it for good, and brings its checkpoints back to the job's folder, set aside. Returns
// where they are kept; empty if there are none. What cannot be removed stays where it is, and a
// line on stderr says so.
std::string DropMovedJob(Files& files, const JobPaths& paths, const std::string& moved_to);

// Checkpoints that were set aside.
struct AsideCheckpoints {
  std::string where;               // empty if there were none
  std::vector<std::string> names;  // the folders that were moved or marked, in this order
};

// Sets aside the checkpoints in `directory`, so that no job resumes from them: moves its step-*
// folders into a new folder abandoned-<id> in it. In an object store, marks each as abandoned.
// After an error none is set aside; if not even that can be undone, the newest is still in place.
absl::StatusOr<AsideCheckpoints> SetCheckpointsAside(Files& files, const std::string& directory);
// Undoes it, as far as it was not undone before.
absl::Status PutCheckpointsBack(Files& files, const std::string& directory,
                                const AsideCheckpoints& aside);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_JOB_REMOVAL_H_
