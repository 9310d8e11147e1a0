#include "operator/web/job_actions.h"

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "operator/api/training_job.h"
#include "operator/api/tune_request.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/round_stamp.h"
#include "operator/core/state/round_transition.h"
#include "operator/kube/resource_type.h"
#include "operator/web/not_found.h"

namespace muster::control {
namespace {

constexpr int kAttempts = 5;

std::optional<JobDebug> FindDebug(const WebDeps& deps, const std::string& key) {
  for (JobDebug& debug : deps.controller.Debug()) {
    if (debug.key == key) return std::move(debug);
  }
  return std::nullopt;
}

// Writes a job that has not ended. `change` returns whether there is anything to write; it is
// called again on the newly read job if another client wrote in between.
absl::Status ChangeJob(const WebDeps& deps, const kube::ObjectKey& key,
                       const std::function<absl::StatusOr<bool>(TrainingJob&)>& change) {
  absl::Status written;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    MUSTER_ASSIGN_OR_RETURN(const Json json, deps.api.Get(kube::kTrainingJobs, key));
    MUSTER_ASSIGN_OR_RETURN(TrainingJob job, ParseTrainingJob(json));
    if (IsFinished(job.status)) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", kube::ToString(key), " has ended: ", job.status.state()));
    }
    MUSTER_ASSIGN_OR_RETURN(const bool differs, change(job));
    if (!differs) return absl::OkStatus();
    written = deps.api.Update(kube::kTrainingJobs, ToJson(job)).status();
    if (!absl::IsAborted(written)) break;
  }
  return written;
}

}  // namespace

absl::StatusOr<Json> SetSuspended(const WebDeps& deps, const kube::ObjectKey& key, bool suspend) {
  const auto set = [suspend](TrainingJob& job) -> absl::StatusOr<bool> {
    const bool differs = job.spec.suspend() != suspend;
    job.spec.set_suspend(suspend);
    return differs;
  };
  MUSTER_RETURN_IF_ERROR(ChangeJob(deps, key, set));
  return Json{{"job", kube::ToString(key)}, {"suspend", suspend}};
}

absl::StatusOr<Json> TuneJob(const WebDeps& deps, const kube::ObjectKey& key,
                             const std::string& body) {
  MUSTER_ASSIGN_OR_RETURN(const Json asked, ParseJson(body));
  MUSTER_ASSIGN_OR_RETURN(const TuneRequest request, ParseTuneRequest(asked));
  std::optional<int> place;
  const auto tune = [&](TrainingJob& job) -> absl::StatusOr<bool> {
    MUSTER_ASSIGN_OR_RETURN(place, Tune(request, job.status, job.spec));
    return true;
  };
  MUSTER_RETURN_IF_ERROR(ChangeJob(deps, key, tune));
  return Json{{"job", kube::ToString(key)}, {"tuning", place ? Json(*place) : Json()}};
}

absl::StatusOr<Json> SaveNow(const WebDeps& deps, const kube::ObjectKey& key) {
  const JobCache::Object job = deps.jobs.Get(key);
  if (job == nullptr) return NoSuchJob(deps.jobs, key);
  const auto debug = FindDebug(deps, kube::ToString(key));
  const auto active = Name(RoundPhase::kActive);
  if (!debug || debug->phase != std::string(active)) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", kube::ToString(key), " is not training now, so there is no step to ",
                     "save after"));
  }
  v1alpha1::OperatorMessage message;
  *message.mutable_save()->mutable_round() = ToProto(debug->round);
  int asked = 0;
  for (const AgentState& agent : deps.registry.Agents(job->uid)) {
    if (!agent.attached) continue;
    const OrderTarget target{job->uid, agent.worker.index(), agent.worker.incarnation(),
                             agent.worker.pod_uid()};
    if (deps.registry.SendOrder(target, Encode(message)).ok()) ++asked;
  }
  if (asked == 0) return absl::UnavailableError("no worker of the job is attached");
  return Json{{"job", kube::ToString(key)}, {"workers", asked}};
}

}  // namespace muster::control
