// `muster delete`: removes a job from this machine. Its checkpoints stay.

#include <cstdio>
#include <string>

#include "base/exit_codes.h"
#include "base/logging.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/job_removal.h"
#include "cli/jobs/local_jobs.h"

namespace muster::cli {

std::vector<FlagSpec> DeleteFlags() { return {{"state-dir", "where jobs keep their state"}}; }

int DeleteMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, DeleteFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto root = StateRoot(flags->Get("state-dir", ""));
  if (!root.ok()) return Fail(root.status());
  const auto paths = NamedJob(FileSystem(), *root, flags->positional());
  if (!paths.ok()) return Fail(paths.status());
  const auto job = ReadJob(*paths);
  // The ends of its workers are not worth a message here.
  SetLogLevel(LogLevel::kWarn);
  const absl::StatusOr<std::string> kept = RemoveJob(FileSystem(), *paths);
  if (!kept.ok()) {
    Fail(kept.status());
    return absl::IsFailedPrecondition(kept.status()) ? kExitRefused : kExitFailed;
  }
  std::printf("job %s is deleted\n", paths->job.c_str());
  if (!kept->empty()) {
    std::printf("its checkpoints are kept in %s\n", kept->c_str());
  } else if (job.ok() && job->spec.has_checkpoint() &&
             job->spec.checkpoint().uri() != paths->checkpoints()) {
    std::printf("its checkpoints stay where they are: %s\n", job->spec.checkpoint().uri().c_str());
  }
  return kExitOk;
}

}  // namespace muster::cli
