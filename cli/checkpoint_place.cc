#include "cli/checkpoint_place.h"

#include <cstdlib>
#include <utility>

#include "base/object_store/object_uri.h"
#include "base/status_macros.h"
#include "cli/job_paths.h"

namespace muster::cli {
namespace {

const char* Variable(const char* name) { return std::getenv(name); }

}  // namespace

CheckpointPlace PlaceOf(const control::TrainingJob& job) {
  const v1alpha1::S3Spec& store = job.spec.checkpoint().s3();
  return {job.spec.checkpoint().uri(), {store.endpoint(), store.region()}};
}

CheckpointPlace PlaceOf(const std::string& uri) {
  if (!IsObjectUri(uri)) return {Absolute(uri)};
  return {uri, AddressFromEnvironment(Variable)};
}

absl::StatusOr<std::shared_ptr<Files>> OpenPlace(const CheckpointPlace& place) {
  // The file system lives forever.
  if (!IsObjectUri(place.uri)) return std::shared_ptr<Files>(&FileSystem(), [](Files*) {});
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<Files> store, OpenObjectStore(place.store, Variable));
  return std::shared_ptr<Files>(std::move(store));
}

}  // namespace muster::cli
