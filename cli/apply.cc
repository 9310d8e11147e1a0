#include "cli/apply.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/reapply.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

constexpr int kWriteAttempts = 20;

absl::Status Refusal(const std::string& job, const std::string& differs) {
  return absl::InvalidArgumentError(absl::StrCat(
      "there is a job ", job, " already, and this would be another run of that name: ", differs,
      "; to begin anew: muster run --fresh; to keep both, give this one another metadata.name"));
}

absl::Status DeleteAndWait(kube::Api& api, const kube::ObjectKey& key) {
  MUSTER_RETURN_IF_ERROR(api.Delete(kube::kTrainingJobs, key));
  for (int i = 0; i < 200 && api.Get(kube::kTrainingJobs, key).ok(); ++i) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  return absl::OkStatus();
}

absl::Status UpdateTo(kube::Api& api, TrainingJob current, const TrainingJob& job) {
  current.spec = job.spec;
  for (const auto& [name, value] : job.annotations) current.annotations[name] = value;
  return api.Update(kube::kTrainingJobs, control::ToJson(current)).status();
}

absl::StatusOr<Applied> ApplyOnce(kube::Api& api, const TrainingJob& job, int64_t steps) {
  const kube::ObjectKey key{job.ns, job.name};
  const absl::StatusOr<Json> existing = api.Get(kube::kTrainingJobs, key);
  if (existing.ok()) {
    MUSTER_ASSIGN_OR_RETURN(const TrainingJob current, control::ParseTrainingJob(*existing));
    const ReapplyVerdict verdict = DecideReapply(current, steps, job);
    switch (verdict.what) {
      case Reapply::kRefuse:
        return Refusal(job.name, verdict.sentence);
      case Reapply::kKeep:
        return Applied{current.uid, /*ended_before=*/true};
      case Reapply::kUpdate:
        MUSTER_RETURN_IF_ERROR(UpdateTo(api, current, job));
        return Applied{current.uid};
      case Reapply::kReplace:
        MUSTER_RETURN_IF_ERROR(DeleteAndWait(api, key));
    }
  } else if (!absl::IsNotFound(existing.status())) {
    return existing.status();
  }
  MUSTER_ASSIGN_OR_RETURN(const Json created,
                          api.Create(kube::kTrainingJobs, control::ToJson(job)));
  return Applied{kube::UidOf(created)};
}

}  // namespace

absl::StatusOr<Applied> ApplyJob(kube::Api& api, const TrainingJob& job, int64_t steps) {
  absl::StatusOr<Applied> applied;
  for (int attempt = 0; attempt < kWriteAttempts; ++attempt) {
    applied = ApplyOnce(api, job, steps);
    if (!absl::IsAborted(applied.status())) return applied;
  }
  return applied;
}

absl::Status SetJobSuspended(kube::Api& api, const kube::ObjectKey& key, bool suspended) {
  absl::Status status;
  for (int attempt = 0; attempt < kWriteAttempts; ++attempt) {
    MUSTER_ASSIGN_OR_RETURN(TrainingJob job, GetJob(api, key));
    job.spec.set_suspend(suspended);
    status = api.Update(kube::kTrainingJobs, control::ToJson(job)).status();
    if (!absl::IsAborted(status)) return status;
  }
  return status;
}

absl::StatusOr<TrainingJob> GetJob(kube::Api& api, const kube::ObjectKey& key) {
  MUSTER_ASSIGN_OR_RETURN(const Json json, api.Get(kube::kTrainingJobs, key));
  return control::ParseTrainingJob(json);
}

}  // namespace muster::cli
