#ifndef MUSTER_OPERATOR_RECONCILE_VIEW_WORKER_DIRECTORY_H_
#define MUSTER_OPERATOR_RECONCILE_VIEW_WORKER_DIRECTORY_H_

#include "absl/status/statusor.h"
#include "operator/api/training_job.h"
#include "operator/coordinator/identity/peer_identity.h"
#include "operator/coordinator/identity/token_reviewer.h"
#include "operator/kube/cache/cache.h"
#include "operator/objects/object_records.h"

namespace muster::control {

// Returns which worker a pod is, by the caches: the coordinator's FindWorker. kUnavailable means
// that the caches do not know it yet. Refusals: kNotAWorker for a pod that no job made, whatever
// its labels; kReplaced for an older incarnation than the job's status records. Pure but for the
// caches' locks.
absl::StatusOr<PeerIdentity> FindWorkerOfPod(const kube::Cache<TrainingJob>& jobs,
                                             const kube::Cache<PodRecord>& pods,
                                             const ReviewedPod& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_VIEW_WORKER_DIRECTORY_H_
