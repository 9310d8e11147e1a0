#ifndef MUSTER_OPERATOR_WEB_JOB_ACTIONS_H_
#define MUSTER_OPERATOR_WEB_JOB_ACTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/object_meta.h"
#include "operator/web/web_deps.h"

// The actions that a POST to a job triggers. Thread-safe; kNotFound for an unknown job.
namespace muster::control {

// Writes spec.suspend; suspending saves a checkpoint first. kFailedPrecondition if the job has
// ended.
absl::StatusOr<Json> SetSuspended(const WebDeps& deps, const kube::ObjectKey& key, bool suspend);

// Asks the ranks of the active round for a checkpoint after the current step. kFailedPrecondition
// if no round is active.
absl::StatusOr<Json> SaveNow(const WebDeps& deps, const kube::ObjectKey& key);

// Changes the spec as the JSON of a TuneRequest (operator/api/tune_request.h) in `body` asks, and
// returns the place of the new item of spec.trainer.tunings as `tuning`; null without one.
// kFailedPrecondition if the job has ended; the errors of Tune().
absl::StatusOr<Json> TuneJob(const WebDeps& deps, const kube::ObjectKey& key,
                             const std::string& body);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_JOB_ACTIONS_H_
