#include "cli/checkpoint_place.h"

#include "base/object_store/object_uri.h"
#include "cli/job_paths.h"

namespace muster::cli {
CheckpointPlace PlaceOf(const control::TrainingJob& job) {
  const v1alpha1::S3Spec& store = job.spec.checkpoint().s3();
  return {job.spec.checkpoint().uri(), {store.endpoint(), store.region()}};
}

CheckpointPlace PlaceOf(const std::string& uri) {
  if (!IsObjectUri(uri)) return {Absolute(uri)};
  return {uri, AddressFromEnvironment()};
}

absl::StatusOr<std::shared_ptr<Files>> OpenPlace(const CheckpointPlace& place) {
  return OpenStorage(place.uri, place.store);
}

}  // namespace muster::cli
