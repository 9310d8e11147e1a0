#ifndef MUSTER_CLI_LOCAL_JOBS_H_
#define MUSTER_CLI_LOCAL_JOBS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files.h"
#include "base/json.h"
#include "cli/flags.h"
#include "cli/job_paths.h"
#include "operator/api/training_job.h"

namespace muster::cli {

// The `muster run` that owns a job's state now.
struct LiveOperator {
  int pid = 0;
  std::string http;         // "unix:/path" or "host:port"
  std::string token;        // sent with each call; empty: none
  bool tls = false;         // a cluster's
  std::string ca;           // PEM to trust then; empty: the machine's roots
  std::string server_name;  // what its certificate must be for; empty: the host of `http`
};

// Empty when none runs: there is no file, or the process it names is gone or another.
std::optional<LiveOperator> FindLiveOperator(Files& files, const JobPaths& paths);
absl::Status WriteLiveOperator(Files& files, const JobPaths& paths, const std::string& http);

// The job as its embedded API has it on disk, also while `muster run` writes there. NotFound when
// only its folder is there: `muster run` ended before it wrote the job.
absl::StatusOr<control::TrainingJob> ReadJob(const JobPaths& paths);

// The job named; when `name` is empty, the only one there is, or else the only one that runs now.
// NotFound lists those there are.
absl::StatusOr<JobPaths> FindJob(Files& files, const std::string& root, const std::string& name);

// The job that a command names which ends something: never one that was only meant. NotFound lists
// those there are.
absl::StatusOr<JobPaths> NamedJob(Files& files, const std::string& root,
                                  const std::vector<std::string>& positional);

// What says which operator to ask: --server and those that go with it.
std::vector<FlagSpec> ServerFlags();
// The operator that --server names: https://HOST:PORT of a cluster, http://HOST:PORT or unix:/PATH
// of this machine. InvalidArgument says what is none, or which file cannot be read.
absl::StatusOr<LiveOperator> ServerAt(Files& files, const Flags& flags);

// Calls the operator's JSON API. Unavailable when it does not answer; otherwise its own error:
// NotFound or InvalidArgument where it says so, FailedPrecondition for the rest.
absl::StatusOr<Json> CallOperator(const LiveOperator& live, const std::string& method,
                                  const std::string& path, const std::string& body = "");

}  // namespace muster::cli

#endif  // MUSTER_CLI_LOCAL_JOBS_H_
