#ifndef MUSTER_CLI_APPLY_H_
#define MUSTER_CLI_APPLY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace muster::cli {

// Writes of `muster run` to the job that its operator writes to as well: whoever loses the race
// for a write reads the job again and repeats it, a bounded number of times, then Aborted.

struct Applied {
  std::string uid;
  // The job had succeeded before, and nothing is left to run.
  bool ended_before = false;
};

// Creates the job, or does with the one that is there what DecideReapply() (cli/reapply.h) says;
// `steps` is how many steps that one has made. InvalidArgument when it would be another run: the
// message says what differs, and the two ways on.
absl::StatusOr<Applied> ApplyJob(kube::Api& api, const control::TrainingJob& job, int64_t steps);

absl::Status SetJobSuspended(kube::Api& api, const kube::ObjectKey& key, bool suspended);

absl::StatusOr<control::TrainingJob> GetJob(kube::Api& api, const kube::ObjectKey& key);

}  // namespace muster::cli

#endif  // MUSTER_CLI_APPLY_H_
