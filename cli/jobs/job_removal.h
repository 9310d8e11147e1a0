#ifndef MUSTER_CLI_JOBS_JOB_REMOVAL_H_
#define MUSTER_CLI_JOBS_JOB_REMOVAL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "cli/flags/job_paths.h"

namespace muster::cli {

// Removes a job from this machine: ends workers left by an earlier `muster run`, and removes its
// state. Checkpoints are never removed. Those in the job's own folder are set aside by
// SetCheckpointsAside, so that a later job of the same name does not resume from them.
// Returns the folder in which those are kept now, or "" if the job's folder had none.
// FailedPrecondition while another process runs the job. After an error the job is whole, but no
// worker of it runs.
absl::StatusOr<std::string> RemoveJob(Files& files, const JobPaths& paths);

// The parts of RemoveJob, for a removal that may still be undone.
//
// Ends the workers and moves the job's folder, by one rename, to a place under the root that no
// command lists. Returns the place.
absl::StatusOr<std::string> MoveJobAway(Files& files, const JobPaths& paths);
// Moves the folder back, and removes the state that was written to the job's folder since.
// FailedPrecondition if checkpoints were written there. OK if the folder was moved back before.
absl::Status PutJobBack(Files& files, const JobPaths& paths, const std::string& moved_to);
// Removes the moved folder for good, and moves its checkpoints back to the job's folder, set aside.
// Returns where they are kept; empty without checkpoints. If something cannot be removed, it stays
// in place and a line on stderr says so.
std::string DropMovedJob(Files& files, const JobPaths& paths, const std::string& moved_to);

// Checkpoints that were set aside.
struct AsideCheckpoints {
  std::string where;               // empty: there were no checkpoints
  std::vector<std::string> names;  // the folders that were moved or marked, in this order
};

// Sets aside the checkpoints in `directory`, so that no job resumes from them: moves its step-*
// folders into a new folder abandoned-<id> in it. In an object store, marks each as abandoned. An
// error undoes this; if undoing fails too, the newest checkpoint is still in place.
absl::StatusOr<AsideCheckpoints> SetCheckpointsAside(Files& files, const std::string& directory);
// Undoes SetCheckpointsAside; may be repeated after an error.
absl::Status PutCheckpointsBack(Files& files, const std::string& directory,
                                const AsideCheckpoints& aside);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_JOB_REMOVAL_H_
