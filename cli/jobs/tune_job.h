#ifndef MUSTER_CLI_JOBS_TUNE_JOB_H_
#define MUSTER_CLI_JOBS_TUNE_JOB_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/jobs/tune_words.h"
#include "operator/api/tune_request.h"
#include "operator/kube/api.h"
#include "operator/kube/object_meta.h"

namespace muster::cli {

// Changes the spec of a job as control::Tune() does, and returns what that does. A write that meets
// a conflict is repeated on the newly read job, a bounded number of times, then Aborted.
// FailedPrecondition if the job has ended.
absl::StatusOr<std::optional<int>> TuneJob(kube::Api& api, const kube::ObjectKey& key,
                                           const control::TuneRequest& request);

// Calls TuneJob(), prints what was written, and waits until it is in force if the call asks for
// that: errors are those of InForce() and of the API server, too.
absl::Status TuneAndSay(kube::Api& api, const kube::ObjectKey& key, const TuneCall& call);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_TUNE_JOB_H_
