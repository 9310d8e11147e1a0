#include "operator/reconcile/view/worker_directory.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/core/round/gang.h"
#include "operator/kube/object_meta.h"

namespace muster::control {

absl::StatusOr<PeerIdentity> FindWorkerOfPod(const kube::Cache<TrainingJob>& jobs,
                                             const kube::Cache<PodRecord>& pods,
                                             const ReviewedPod& pod) {
  const kube::ObjectKey key{pod.ns, pod.name};
  const auto not_yet = [&](const char* what) {
    return absl::UnavailableError(
        absl::StrCat(what, " of pod ", kube::ToString(key), " is not known here yet"));
  };
  const auto no_worker = [&](const char* why) {
    return Refused(Refusal::kNotAWorker, absl::StatusCode::kPermissionDenied,
                   absl::StrCat("pod ", kube::ToString(key), " is no worker: ", why));
  };
  const std::shared_ptr<const PodRecord> record = pods.Get(key);
  if (record == nullptr) return not_yet("the state");
  if (record->job.empty()) return no_worker("it has no label muster.dev/job");
  if (record->view->uid != pod.uid) return not_yet("the state");
  const std::shared_ptr<const TrainingJob> job = jobs.Get({pod.ns, record->job});
  if (job == nullptr) return not_yet("the job");
  const PodView& view = *record->view;
  if (!IsWorkerOf(*record, {job->ns, job->name}, job->uid)) {
    return no_worker("its controller is not the job that its label names");
  }
  if (PodName(job->name, view.index, view.incarnation) != pod.name) {
    return no_worker("its name is not that of a worker");
  }
  const auto& recorded = job->status.incarnations();
  if (view.index < 0 || view.index >= recorded.size() || view.incarnation > recorded[view.index]) {
    return not_yet("the incarnation");
  }
  if (view.incarnation < recorded[view.index]) {
    return Refused(Refusal::kReplaced, absl::StatusCode::kFailedPrecondition,
                   absl::StrCat("pod ", kube::ToString(key), " was replaced by incarnation ",
                                recorded[view.index]));
  }
  return PeerIdentity{pod.ns, job->name, job->uid, view.index, view.incarnation, pod.name, pod.uid};
}

}  // namespace muster::control
