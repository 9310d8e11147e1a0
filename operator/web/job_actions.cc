#include "operator/web/job_actions.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
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

}  // namespace

absl::StatusOr<Json> SetSuspended(const WebDeps& deps, const kube::ObjectKey& key, bool suspend) {
  absl::Status last;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    MUSTER_ASSIGN_OR_RETURN(const Json json, deps.api.Get(kube::kTrainingJobs, key));
    MUSTER_ASSIGN_OR_RETURN(TrainingJob job, ParseTrainingJob(json));
    if (IsFinished(job.status)) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", kube::ToString(key), " has ended: ", job.status.state()));
    }
    if (job.spec.suspend() != suspend) {
      job.spec.set_suspend(suspend);
      last = deps.api.Update(kube::kTrainingJobs, ToJson(job)).status();
      if (absl::IsAborted(last)) continue;  // another client wrote in between
      MUSTER_RETURN_IF_ERROR(last);
    }
    return Json{{"job", kube::ToString(key)}, {"suspend", suspend}};
  }
  return last;
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
