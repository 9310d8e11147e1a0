#ifndef MUSTER_CLI_LOCAL_JOBS_H_
#define MUSTER_CLI_LOCAL_JOBS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/files.h"
#include "cli/flags.h"
#include "cli/job_paths.h"
#include "cli/operator_client.h"
#include "operator/api/training_job.h"

namespace muster::cli {

// Empty when none runs: there is no file, or the process it names is gone or another.
std::optional<LiveOperator> FindLiveOperator(Files& files, const JobPaths& paths);
absl::Status WriteLiveOperator(Files& files, const JobPaths& paths, const std::string& http);

// The job as its embedded API has it on disk, also while `muster run` writes there. NotFound when
// only its folder is there: `muster run` ended before it wrote the job.
absl::StatusOr<control::TrainingJob> ReadJob(const JobPaths& paths);

// Jobs whose `muster run` is there now, by name.
absl::StatusOr<std::vector<JobPaths>> RunningJobs(Files& files, const std::string& root);

// The job named; when `name` is empty, the only one there is, or else the only one that runs now.
// NotFound lists those there are, and says with `to_choose` how to name one.
absl::StatusOr<JobPaths> FindJob(Files& files, const std::string& root, const std::string& name,
                                 absl::string_view to_choose = "name a job");
// Commands whose positional argument is something else say this.
inline constexpr absl::string_view kChooseByFlag = "choose a job with --job NAME";

// The job that a command names which ends something: never one that was only meant. NotFound lists
// those there are.
absl::StatusOr<JobPaths> NamedJob(Files& files, const std::string& root,
                                  const std::vector<std::string>& positional);

// Where a job saves, or what --dir says instead. `job`: its name; empty: the only one there is.
// NotFound when it saves nowhere. Reads the flags `state-dir` and `dir`.
absl::StatusOr<std::string> CheckpointDirectory(const Flags& flags, const std::string& job);

}  // namespace muster::cli

#endif  // MUSTER_CLI_LOCAL_JOBS_H_
