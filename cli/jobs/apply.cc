#include "cli/jobs/apply.h"

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/jobs/reapply.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

constexpr int kWriteAttempts = 20;

absl::Status Refusal(const std::string& job, const std::string& differs) {
  return absl::InvalidArgumentError(absl::StrCat(
      "there is a job ", job, " already, and this would be another run of that name: ", differs,
      "; to begin anew, add --fresh; to keep both, give this one another metadata.name"));
}

// Returns a new job with the words of `job`, which may be a stored one.
TrainingJob NewJob(const TrainingJob& job) {
  TrainingJob fresh;
  fresh.ns = job.ns;
  fresh.name = job.name;
  fresh.labels = job.labels;
  fresh.annotations = job.annotations;
  fresh.spec = job.spec;
  if (const Json* spec = kube::Find(job.raw, {"spec"})) fresh.raw["spec"] = *spec;
  return fresh;
}

// Creates `job` in the place of `current`. The newest checkpoint that the job is known to have
// outlives its end, so that the job asks its owner when that is gone, and so do the steps of its
// tunings, which are trained again from that checkpoint on. The incarnations go on, so
// that no pod gets the name of an earlier one.
absl::StatusOr<std::string> Replace(kube::MemoryApi& store, const TrainingJob& current,
                                    const TrainingJob& job) {
  TrainingJob fresh = NewJob(job);
  if (current.status.checkpoint().step() > 0) {
    *fresh.status.mutable_checkpoint() = current.status.checkpoint();
    *fresh.status.mutable_tunings() = current.status.tunings();
  }
  *fresh.status.mutable_incarnations() = current.status.incarnations();
  MUSTER_ASSIGN_OR_RETURN(const Json created,
                          store.Recreate(kube::kTrainingJobs, control::ToJson(fresh),
                                         {current.uid, current.resource_version}));
  return kube::UidOf(created);
}

absl::Status UpdateTo(kube::Api& api, TrainingJob current, const TrainingJob& job) {
  current.spec = job.spec;
  for (const auto& [name, value] : job.annotations) current.annotations[name] = value;
  return api.Update(kube::kTrainingJobs, control::ToJson(current)).status();
}

// A manifest that says nothing of tunings leaves those of the job, as `kubectl apply` would: they
// are what its steps were trained with.
TrainingJob KeepTunings(const TrainingJob& current, TrainingJob job) {
  if (!current.spec.has_trainer() || !job.spec.has_trainer()) return job;
  if (job.spec.trainer().tunings_size() > 0) return job;
  *job.spec.mutable_trainer()->mutable_tunings() = current.spec.trainer().tunings();
  return job;
}

absl::StatusOr<Applied> ApplyOnce(kube::Api& api, kube::MemoryApi& store, const TrainingJob& wanted,
                                  int64_t steps) {
  const kube::ObjectKey key{wanted.ns, wanted.name};
  const absl::StatusOr<Json> existing = api.Get(kube::kTrainingJobs, key);
  if (existing.ok()) {
    MUSTER_ASSIGN_OR_RETURN(const TrainingJob current, control::ParseTrainingJob(*existing));
    const TrainingJob job = KeepTunings(current, wanted);
    const ReapplyVerdict verdict = DecideReapply(current, steps, job);
    switch (verdict.what) {
      case Reapply::kRefuse:
        return Refusal(job.name, verdict.sentence);
      case Reapply::kKeep:
        return Applied{current.uid, /*ended_before=*/true};
      case Reapply::kUpdate:
        MUSTER_RETURN_IF_ERROR(UpdateTo(api, current, job));
        return Applied{current.uid};
      case Reapply::kReplace: {
        MUSTER_ASSIGN_OR_RETURN(const std::string uid, Replace(store, current, job));
        return Applied{uid};
      }
    }
  } else if (!absl::IsNotFound(existing.status())) {
    return existing.status();
  }
  MUSTER_ASSIGN_OR_RETURN(const Json created,
                          api.Create(kube::kTrainingJobs, control::ToJson(NewJob(wanted))));
  return Applied{kube::UidOf(created)};
}

}  // namespace

absl::StatusOr<Applied> ApplyJob(kube::Api& api, kube::MemoryApi& store, const TrainingJob& job,
                                 int64_t steps) {
  absl::StatusOr<Applied> applied;
  for (int attempt = 0; attempt < kWriteAttempts; ++attempt) {
    applied = ApplyOnce(api, store, job, steps);
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
