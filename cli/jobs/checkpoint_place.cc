#include "cli/jobs/checkpoint_place.h"

#include "absl/strings/str_cat.h"
#include "base/object_store/object_uri.h"
#include "base/object_store/place.h"
#include "cli/flags/job_paths.h"

namespace muster::cli {
CheckpointPlace PlaceOf(const control::TrainingJob& job) {
  const v1alpha1::S3Spec& store = job.spec.checkpoint().s3();
  return {job.spec.checkpoint().uri(), {store.endpoint(), store.region()}};
}

absl::StatusOr<CheckpointPlace> PlaceOf(const std::string& dir) {
  if (const auto why = WhyNoPlace(dir, PlaceKind::kPathOrObjects); why.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("--dir ", dir, ": ", *why));
  }
  if (IsObjectUri(dir)) return CheckpointPlace{dir, AddressFromEnvironment()};
  return CheckpointPlace{Absolute(WithoutFileScheme(dir))};
}

absl::StatusOr<std::shared_ptr<Files>> OpenPlace(const CheckpointPlace& place) {
  return OpenStorage(place.uri, place.store);
}

}  // namespace muster::cli
