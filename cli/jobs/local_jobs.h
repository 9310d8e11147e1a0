#ifndef MUSTER_CLI_JOBS_LOCAL_JOBS_H_
#define MUSTER_CLI_JOBS_LOCAL_JOBS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/files/files.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/checkpoint_place.h"
#include "cli/jobs/operator_client.h"
#include "operator/api/training_job.h"

namespace muster::cli {

// Returns nullopt if none runs: there is no file, or the process in it is gone or another one.
std::optional<LiveOperator> FindLiveOperator(Files& files, const JobPaths& paths);
absl::Status WriteLiveOperator(Files& files, const JobPaths& paths, const std::string& http);

// All objects about one job that its embedded API holds.
struct LocalObjects {
  control::TrainingJob job;
  std::vector<Json> pods;
  std::vector<Json> events;
};

// As ReadJob(), with the job's pods and events.
absl::StatusOr<LocalObjects> ReadObjects(const JobPaths& paths);

// Reads the job from its embedded API's files, even while `muster run` writes there. NotFound if
// only its folder exists: `muster run` ended before it wrote the job.
absl::StatusOr<control::TrainingJob> ReadJob(const JobPaths& paths);

// Returns the jobs whose `muster run` is running now, by name.
absl::StatusOr<std::vector<JobPaths>> RunningJobs(Files& files, const std::string& root);

// Returns the job `name`; if it is empty, the only job there is, or else the only one that runs
// now. NotFound lists the jobs, and explains with `to_choose` how to name one.
absl::StatusOr<JobPaths> FindJob(Files& files, const std::string& root, const std::string& name,
                                 absl::string_view to_choose = "name a job");
// The `to_choose` of commands whose positional argument is something else.
inline constexpr absl::string_view kChooseByFlag = "choose a job with --job NAME";

// Returns the job that is named explicitly, for commands that end something and must not guess.
// NotFound lists the jobs.
absl::StatusOr<JobPaths> NamedJob(Files& files, const std::string& root,
                                  const std::vector<std::string>& positional);

// Returns the place that a job saves to, or --dir if given. `job`: its name; empty: the only
// one there is. NotFound if it saves nowhere. Reads the flags `state-dir` and `dir`.
absl::StatusOr<CheckpointPlace> CheckpointDirectory(const Flags& flags, const std::string& job);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_LOCAL_JOBS_H_
