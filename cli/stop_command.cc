// `muster stop`: asks the running operator to save a checkpoint and suspend the job; on a cluster
// it writes spec.suspend itself.

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/cluster_job.h"
#include "cli/jobs/local_jobs.h"

namespace muster::cli {

std::vector<FlagSpec> StopFlags() {
  std::vector<FlagSpec> flags = ClusterFlags();
  flags.push_back({"state-dir", "where jobs keep their state"});
  return flags;
}

int StopMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, StopFlags());
  if (!flags.ok()) return Fail(flags.status());
  if (NamesCluster(*flags)) return SuspendOnCluster(*flags, /*suspend=*/true);
  const auto root = StateRoot(flags->Get("state-dir", ""));
  if (!root.ok()) return Fail(root.status());
  const auto paths = NamedJob(FileSystem(), *root, flags->positional());
  if (!paths.ok()) return Fail(paths.status());
  const auto job = ReadJob(*paths);
  if (!job.ok()) return Fail(job.status());
  const auto live = FindLiveOperator(FileSystem(), *paths);
  if (!live) {
    std::fprintf(stderr, "muster: job %s is not running; its checkpoints: %s\n", paths->job.c_str(),
                 paths->Hint("checkpoints").c_str());
    return kExitRefused;
  }
  const auto answer =
      CallOperator(*live, "POST", absl::StrCat("/api/v1/jobs/", job->ns, "/", job->name, "/stop"));
  if (!answer.ok()) return Fail(answer.status());
  std::printf("job %s is saving a checkpoint and stopping; go on with: %s\n", job->name.c_str(),
              paths->Hint("resume").c_str());
  return kExitOk;
}

}  // namespace muster::cli
