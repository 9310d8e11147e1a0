#include "cli/jobs/tune_job.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/jobs/apply.h"
#include "operator/api/training_job.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/resource_type.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

constexpr int kWriteAttempts = 20;
constexpr absl::Duration kBetweenLooks = absl::Seconds(1);

absl::StatusOr<std::string> Await(kube::Api& api, const kube::ObjectKey& key, int place) {
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(const TrainingJob job, GetJob(api, key));
    MUSTER_ASSIGN_OR_RETURN(const std::optional<std::string> said, InForce(job, place));
    if (said) return *said;
    absl::SleepFor(kBetweenLooks);
  }
}

// An API server drops fields that its CustomResourceDefinition does not have.
absl::Status CheckStored(const Json& stored, int place) {
  MUSTER_ASSIGN_OR_RETURN(const TrainingJob job, control::ParseTrainingJob(stored));
  if (job.spec.trainer().tunings_size() > place) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the API server did not store spec.trainer.tunings, and nothing has changed: its "
      "CustomResourceDefinition is older than this program; apply "
      "deploy/crd/muster.dev_trainingjobs.yaml");
}

}  // namespace

absl::StatusOr<std::optional<int>> TuneJob(kube::Api& api, const kube::ObjectKey& key,
                                           const control::TuneRequest& request) {
  absl::Status written;
  for (int attempt = 0; attempt < kWriteAttempts; ++attempt) {
    MUSTER_ASSIGN_OR_RETURN(TrainingJob job, GetJob(api, key));
    if (control::IsFinished(job.status)) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", key.name, " has ended: ", job.status.state()));
    }
    MUSTER_ASSIGN_OR_RETURN(const std::optional<int> place,
                            control::Tune(request, job.status, job.spec));
    const absl::StatusOr<Json> stored = api.Update(kube::kTrainingJobs, control::ToJson(job));
    if (stored.ok() && place) MUSTER_RETURN_IF_ERROR(CheckStored(*stored, *place));
    if (stored.ok()) return place;
    written = stored.status();
    if (!absl::IsAborted(written)) break;
  }
  return written;
}

absl::Status TuneAndSay(kube::Api& api, const kube::ObjectKey& key, const TuneCall& call) {
  MUSTER_ASSIGN_OR_RETURN(const std::optional<int> place, TuneJob(api, key, call.request));
  std::printf("job %s: %s\n", key.name.c_str(), control::DescribeRequest(call.request).c_str());
  if (!call.wait || !place) return absl::OkStatus();
  std::fflush(stdout);
  MUSTER_ASSIGN_OR_RETURN(const std::string said, Await(api, key, *place));
  std::printf("%s\n", said.c_str());
  return absl::OkStatus();
}

}  // namespace muster::cli
