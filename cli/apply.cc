#include "cli/apply.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "google/protobuf/util/message_differencer.h"
#include "operator/api/defaults.h"
#include "operator/api/validation.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

constexpr int kWriteAttempts = 20;

bool IsFinished(const TrainingJob& job) {
  return job.status.state() == "Succeeded" || job.status.state() == "Failed";
}

bool SameSpec(v1alpha1::TrainingJobSpec a, v1alpha1::TrainingJobSpec b) {
  a.clear_suspend();
  b.clear_suspend();
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

absl::StatusOr<std::string> ApplyOnce(kube::Api& api, const TrainingJob& job) {
  const kube::ObjectKey key{job.ns, job.name};
  const absl::StatusOr<Json> existing = api.Get(kube::kTrainingJobs, key);
  if (existing.ok()) {
    MUSTER_ASSIGN_OR_RETURN(TrainingJob current, control::ParseTrainingJob(*existing));
    const bool same = SameSpec(current.spec, job.spec);
    if (!IsFinished(current)) {
      v1alpha1::TrainingJobSpec before = current.spec, after = job.spec;
      control::Default(before);
      control::Default(after);
      MUSTER_RETURN_IF_ERROR(control::ToStatus(control::ValidateUpdate(before, after)));
      current.spec = job.spec;
      MUSTER_RETURN_IF_ERROR(api.Update(kube::kTrainingJobs, control::ToJson(current)).status());
      return current.uid;
    }
    if (same && current.status.state() == "Succeeded") return current.uid;
    MUSTER_RETURN_IF_ERROR(api.Delete(kube::kTrainingJobs, key));
    for (int i = 0; i < 200 && api.Get(kube::kTrainingJobs, key).ok(); ++i) {
      absl::SleepFor(absl::Milliseconds(50));
    }
  } else if (!absl::IsNotFound(existing.status())) {
    return existing.status();
  }
  MUSTER_ASSIGN_OR_RETURN(const Json created,
                          api.Create(kube::kTrainingJobs, control::ToJson(job)));
  return kube::UidOf(created);
}

}  // namespace

absl::StatusOr<std::string> ApplyJob(kube::Api& api, const TrainingJob& job) {
  absl::StatusOr<std::string> uid;
  for (int attempt = 0; attempt < kWriteAttempts; ++attempt) {
    uid = ApplyOnce(api, job);
    if (!absl::IsAborted(uid.status())) return uid;
  }
  return uid;
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
