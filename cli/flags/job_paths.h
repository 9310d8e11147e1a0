#ifndef MUSTER_CLI_FLAGS_JOB_PATHS_H_
#define MUSTER_CLI_FLAGS_JOB_PATHS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/files/files.h"

namespace muster::cli {

// Paths of a local job's state: one folder per job, `<root>/<job>/`.
struct JobPaths {
  std::string root;
  std::string job;

  std::string folder() const { return JoinPath(root, job); }
  std::string api() const { return JoinPath(folder(), "api"); }    // the embedded API's files
  std::string pods() const { return JoinPath(folder(), "pods"); }  // one folder per pod
  std::string history() const { return JoinPath(folder(), "steps.jsonl"); }
  std::string operator_file() const { return JoinPath(folder(), "operator.json"); }
  std::string log() const { return JoinPath(folder(), "operator.log"); }
  // The output of a `muster run` that goes on in the background.
  std::string run_log() const { return JoinPath(folder(), "run.log"); }
  std::string decisions() const { return JoinPath(folder(), "decisions"); }
  std::string checkpoints() const { return JoinPath(folder(), "checkpoints"); }
  // Returns `muster COMMAND JOB` as it can be pasted into a shell: it has --state-dir if commands
  // would look for the job in another folder without it.
  std::string Hint(absl::string_view command) const;
  // The names of the coordinator's socket and of that of its HTTP server (socket_folder.h).
  std::string socket_name() const;
  std::string http_socket_name() const;
  // The token that an HTTP server on a port requires.
  std::string http_token() const { return JoinPath(folder(), "http.token"); }
};

// Returns `flag` if not empty, else $MUSTER_STATE_DIR, else ~/.local/state/muster. Absolute.
absl::StatusOr<std::string> StateRoot(absl::string_view flag);

// Makes the job's folder, accessible to this user alone. An existing folder is made so too if it
// holds a job, because older versions let others read it; any other is left unchanged.
absl::Status MakeJobFolder(const JobPaths& paths);

// Returns the names of the jobs that have a folder under `root`, sorted.
absl::StatusOr<std::vector<std::string>> LocalJobs(Files& files, const std::string& root);

// Makes `path` absolute, relative to the working directory; an s3:// uri stays unchanged.
std::string Absolute(absl::string_view path);

// Finds the program `name` beside this one: in its folder, or in ../<package>/ as in Bazel's
// layout. NotFound names `flag`, with which its path can be given.
absl::StatusOr<std::string> FindProgram(const std::string& package, const std::string& name,
                                        const std::string& flag);

}  // namespace muster::cli

#endif  // MUSTER_CLI_FLAGS_JOB_PATHS_H_
