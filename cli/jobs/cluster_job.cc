#include "cli/jobs/cluster_job.h"

#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/status_macros.h"
#include "cli/jobs/apply.h"
#include "cli/jobs/tune_job.h"
#include "operator/api/training_job.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/rest/rest_api.h"

namespace muster::cli {
namespace {

absl::StatusOr<kube::RestConfig> ReadConfig(const Flags& flags) {
  MUSTER_ASSIGN_OR_RETURN(kube::RestConfig config,
                          kube::LoadKubeconfig(kube::KubeconfigPaths(flags.Get("kubeconfig", "")),
                                               flags.Get("context", "")));
  config.user_agent = "muster";
  return config;
}

absl::Status Suspend(const Flags& flags, bool suspend) {
  if (flags.positional().size() != 1) return absl::InvalidArgumentError("name one job");
  MUSTER_ASSIGN_OR_RETURN(kube::RestConfig config, ReadConfig(flags));
  const kube::ObjectKey key{flags.Get("namespace", config.name_space), flags.positional()[0]};
  MUSTER_ASSIGN_OR_RETURN(const auto api, kube::RestApi::Create(std::move(config)));
  MUSTER_ASSIGN_OR_RETURN(const control::TrainingJob job, GetJob(*api, key));
  if (control::IsFinished(job.status)) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", kube::ToString(key), " has ended: ", job.status.state()));
  }
  return SetJobSuspended(*api, key, suspend);
}

}  // namespace

std::vector<FlagSpec> ClusterFlags() {
  return {{"kubeconfig",
           "the kubeconfig of the job's cluster; the job is written with your own rights there"},
          {"context", "with --kubeconfig: its context; default the current one"},
          {"namespace", "with --kubeconfig: the job's namespace; default the context's"}};
}

bool NamesCluster(const Flags& flags) { return flags.Has("kubeconfig"); }

absl::Status TuneOnCluster(const Flags& flags, TuneCall call) {
  MUSTER_ASSIGN_OR_RETURN(kube::RestConfig config, ReadConfig(flags));
  const kube::ObjectKey key{flags.Get("namespace", config.name_space), call.job};
  call.request.by = CallerName(config.user);
  MUSTER_ASSIGN_OR_RETURN(const auto api, kube::RestApi::Create(std::move(config)));
  return TuneAndSay(*api, key, call);
}

int SuspendOnCluster(const Flags& flags, bool suspend) {
  const absl::Status status = Suspend(flags, suspend);
  if (!status.ok()) {
    std::fprintf(stderr, "muster: %s\n", std::string(status.message()).c_str());
    if (absl::IsFailedPrecondition(status)) return kExitRefused;
    const bool mendable = absl::IsInvalidArgument(status) || absl::IsNotFound(status);
    return mendable ? kExitBadInput : kExitFailed;
  }
  std::printf(suspend ? "job %s saves what it can and stops\n" : "job %s goes on\n",
              flags.positional()[0].c_str());
  return kExitOk;
}

}  // namespace muster::cli
