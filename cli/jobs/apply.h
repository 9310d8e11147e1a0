#ifndef MUSTER_CLI_JOBS_APPLY_H_
#define MUSTER_CLI_JOBS_APPLY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"
#include "operator/kube/memory/memory_api.h"

namespace muster::cli {

// Writes of `muster run` to a job that its operator writes to as well: a write that meets a
// conflict is repeated on the newly read job, a bounded number of times, then Aborted.

struct Applied {
  std::string uid;
  // The job had already succeeded, and nothing is left to run.
  bool ended_before = false;
};

// Creates the job, or handles an existing one as DecideReapply() (cli/jobs/reapply.h) decides;
// `steps` is the number of steps that the existing job has made. `job` may be the stored one,
// unchanged. A job is replaced in one write, so that whatever fails, the old one or the new one is
// there. `api` is `store`, or wraps it. InvalidArgument if it would be another run: the message
// names the difference and the two ways to proceed.
absl::StatusOr<Applied> ApplyJob(kube::Api& api, kube::MemoryApi& store,
                                 const control::TrainingJob& job, int64_t steps);

absl::Status SetJobSuspended(kube::Api& api, const kube::ObjectKey& key, bool suspended);

absl::StatusOr<control::TrainingJob> GetJob(kube::Api& api, const kube::ObjectKey& key);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_APPLY_H_
