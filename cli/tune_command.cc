// `muster tune`: changes the learning rate, the clip norm or the batch of a job while it trains.
// On this machine the running operator writes the job; on a cluster the caller does.

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/cluster_job.h"
#include "cli/jobs/local_jobs.h"
#include "cli/jobs/tune_words.h"

namespace muster::cli {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(200);

absl::Status WaitHere(const JobPaths& paths, int place) {
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(const control::TrainingJob job, ReadJob(paths));
    MUSTER_ASSIGN_OR_RETURN(const std::optional<std::string> said, InForce(job, place));
    if (said) {
      std::printf("%s\n", said->c_str());
      return absl::OkStatus();
    }
    if (!FindLiveOperator(FileSystem(), paths)) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", job.name, " is not running any more, and the change has not come ",
                       "into force"));
    }
    absl::SleepFor(kBetweenLooks);
  }
}

absl::Status TuneHere(const Flags& flags, TuneCall call) {
  MUSTER_ASSIGN_OR_RETURN(const std::string root, StateRoot(flags.Get("state-dir", "")));
  MUSTER_ASSIGN_OR_RETURN(const JobPaths paths, FindJob(FileSystem(), root, call.job));
  MUSTER_ASSIGN_OR_RETURN(const control::TrainingJob job, ReadJob(paths));
  const auto live = FindLiveOperator(FileSystem(), paths);
  if (!live) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", paths.job,
                     " is not running: change its manifest, and go on with: ", "muster run FILE"));
  }
  call.request.by = CallerName("");
  MUSTER_ASSIGN_OR_RETURN(
      const Json answer,
      CallOperator(*live, "POST", absl::StrCat("/api/v1/jobs/", job.ns, "/", job.name, "/tune"),
                   DumpJson(control::ToJson(call.request))));
  std::printf("job %s: %s\n", job.name.c_str(), control::DescribeRequest(call.request).c_str());
  std::fflush(stdout);
  const std::optional<int64_t> place = IntegerField(answer, "tuning");
  return call.wait && place ? WaitHere(paths, static_cast<int>(*place)) : absl::OkStatus();
}

absl::Status RunTune(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(arguments, TuneFlags()));
  MUSTER_ASSIGN_OR_RETURN(TuneCall call, ReadTuneCall(flags));
  return NamesCluster(flags) ? TuneOnCluster(flags, std::move(call))
                             : TuneHere(flags, std::move(call));
}

}  // namespace

std::vector<FlagSpec> TuneFlags() {
  std::vector<FlagSpec> flags = TuneOnlyFlags();
  for (const FlagSpec& flag : ClusterFlags()) flags.push_back(flag);
  flags.push_back({"state-dir", "where jobs keep their state"});
  return flags;
}

int TuneMain(const std::vector<std::string>& arguments) {
  const absl::Status status = RunTune(arguments);
  if (status.ok()) return kExitOk;
  const int code = Fail(status);
  return absl::IsFailedPrecondition(status) ? +kExitRefused : code;
}

}  // namespace muster::cli
