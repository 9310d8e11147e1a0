#ifndef MUSTER_CLI_JOBS_CHECKPOINT_PLACE_H_
#define MUSTER_CLI_JOBS_CHECKPOINT_PLACE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "base/object_store/storage.h"
#include "operator/api/training_job.h"

namespace muster::cli {

// Where checkpoints are kept: a directory of this machine, or objects of a store.
struct CheckpointPlace {
  std::string uri;
  StoreAddress store = {};  // of an s3:// uri
};

// Returns the place that the job saves to.
CheckpointPlace PlaceOf(const control::TrainingJob& job);
// Returns the place of --dir; that of an s3:// uri is in the store of AWS_ENDPOINT_URL and
// AWS_REGION. InvalidArgument if the text is no place.
absl::StatusOr<CheckpointPlace> PlaceOf(const std::string& dir);

// Opens what keeps it. FailedPrecondition names the variable with a key that is missing.
absl::StatusOr<std::shared_ptr<Files>> OpenPlace(const CheckpointPlace& place);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_CHECKPOINT_PLACE_H_
