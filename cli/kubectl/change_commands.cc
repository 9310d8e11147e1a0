// The commands that write a job: suspend, resume, scale, tune. Each is a write of the TrainingJob
// with the rights of the caller, repeated on the newly read job if somebody else wrote it
// meanwhile.

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/status_macros.h"
#include "cli/jobs/tune_job.h"
#include "cli/jobs/tune_words.h"
#include "cli/kubectl/cluster.h"
#include "cli/kubectl/commands.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/resource_type.h"

namespace muster::cli::kubectl {
namespace {

constexpr int kWriteAttempts = 20;

// Changes the spec of a job that has not ended.
absl::Status ChangeSpec(kube::Api& api, const kube::ObjectKey& key,
                        const std::function<void(Json& spec)>& change) {
  absl::Status written;
  for (int attempt = 0; attempt < kWriteAttempts; ++attempt) {
    MUSTER_ASSIGN_OR_RETURN(Json object, api.Get(kube::kTrainingJobs, key));
    MUSTER_ASSIGN_OR_RETURN(const control::TrainingJob job, control::ParseTrainingJob(object));
    if (control::IsFinished(job.status)) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", key.name, " has ended: ", job.status.state()));
    }
    change(object["spec"]);
    written = api.Update(kube::kTrainingJobs, object).status();
    if (!absl::IsAborted(written)) break;
  }
  return written;
}

absl::Status Suspend(const std::vector<std::string>& arguments, bool suspend) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, SuspendFlags()));
  MUSTER_ASSIGN_OR_RETURN(const Cluster cluster, Connect(flags));
  MUSTER_ASSIGN_OR_RETURN(const kube::ObjectKey key, NamedJob(cluster, flags));
  MUSTER_RETURN_IF_ERROR(
      ChangeSpec(*cluster.api, key, [suspend](Json& spec) { spec["suspend"] = suspend; }));
  std::printf(suspend ? "job %s saves what it can and stops\n" : "job %s goes on\n",
              key.name.c_str());
  return absl::OkStatus();
}

absl::Status Scale(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, ScaleFlags()));
  MUSTER_ASSIGN_OR_RETURN(const int64_t workers, flags.GetInt("workers", -1));
  if (workers < 1) {
    return absl::InvalidArgumentError("--workers: wants the number of workers, from 1");
  }
  MUSTER_ASSIGN_OR_RETURN(const Cluster cluster, Connect(flags));
  MUSTER_ASSIGN_OR_RETURN(const kube::ObjectKey key, NamedJob(cluster, flags));
  MUSTER_RETURN_IF_ERROR(
      ChangeSpec(*cluster.api, key, [workers](Json& spec) { spec["workers"]["count"] = workers; }));
  std::printf("job %s is to have %ld workers\n", key.name.c_str(), static_cast<long>(workers));
  return absl::OkStatus();
}

absl::Status Tune(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, TuneFlags()));
  MUSTER_ASSIGN_OR_RETURN(TuneCall call, ReadTuneCall(flags));
  MUSTER_ASSIGN_OR_RETURN(const Cluster cluster, Connect(flags));
  const kube::ObjectKey key{cluster.name_space, call.job};
  call.request.by = CallerName(cluster.user);
  return TuneAndSay(*cluster.api, key, call);
}

int ExitCode(const absl::Status& status) { return status.ok() ? +kExitOk : Fail(status); }

}  // namespace

std::vector<FlagSpec> SuspendFlags() { return ClusterFlags(); }

int SuspendMain(const std::vector<std::string>& arguments) {
  return ExitCode(Suspend(arguments, true));
}

int ResumeMain(const std::vector<std::string>& arguments) {
  return ExitCode(Suspend(arguments, false));
}

std::vector<FlagSpec> ScaleFlags() {
  std::vector<FlagSpec> flags = ClusterFlags();
  flags.push_back({"workers", "the number of workers that the job is to have (workers.count)"});
  return flags;
}

std::vector<FlagSpec> TuneFlags() {
  std::vector<FlagSpec> flags = TuneOnlyFlags();
  for (const FlagSpec& flag : ClusterFlags()) flags.push_back(flag);
  return flags;
}

int TuneMain(const std::vector<std::string>& arguments) { return ExitCode(Tune(arguments)); }

int ScaleMain(const std::vector<std::string>& arguments) { return ExitCode(Scale(arguments)); }

}  // namespace muster::cli::kubectl
