#ifndef MUSTER_CLI_APPLY_H_
#define MUSTER_CLI_APPLY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace muster::cli {

// Writes of `muster run` to the job that its operator writes to as well: whoever loses the race
// for a write reads the job again and repeats it, a bounded number of times, then Aborted.

// Creates the job, or makes the one that is there like it; a suspended one goes on, a finished one
// that differs is deleted first. The job's uid. InvalidArgument when it may not be changed so.
absl::StatusOr<std::string> ApplyJob(kube::Api& api, const control::TrainingJob& job);

absl::Status SetJobSuspended(kube::Api& api, const kube::ObjectKey& key, bool suspended);

absl::StatusOr<control::TrainingJob> GetJob(kube::Api& api, const kube::ObjectKey& key);

}  // namespace muster::cli

#endif  // MUSTER_CLI_APPLY_H_
