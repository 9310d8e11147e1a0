#include "operator/api/checkpoint_storage.h"

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/object_store/object_uri.h"
#include "operator/api/pod_template.h"

namespace muster::control {
namespace {

constexpr char kDisk[] = "disk";

// A uri that is refused stands for itself: its job saves nothing.
std::string Bucket(const v1alpha1::CheckpointSpec& checkpoint) {
  const absl::StatusOr<ObjectUri> uri = ParseObjectUri(checkpoint.uri());
  return absl::StrCat(checkpoint.s3().endpoint(), " ",
                      uri.ok() ? ToText({.bucket = uri->bucket, .key = ""}) : checkpoint.uri());
}

bool IsBelow(const std::string& path, const std::string& folder) {
  const std::string slashed = absl::EndsWith(folder, "/") ? folder : folder + "/";
  return !folder.empty() && absl::StartsWith(path + "/", slashed);
}

// Returns the name of the volume with the deepest mount at or above the path; empty without one.
std::string VolumeAt(const Json& pod_template, const std::string& path) {
  std::string volume, nearest;
  for (const auto& [index, container] : WorkerContainers(pod_template)) {
    for (const Json& mount : ArrayField(*container, "volumeMounts")) {
      const std::string at = StringField(mount, "mountPath");
      if (!IsBelow(path, at) || at.size() < nearest.size()) continue;
      nearest = at;
      volume = StringField(mount, "name");
    }
  }
  return volume;
}

}  // namespace

std::string CheckpointStorage(const v1alpha1::TrainingJobSpec& spec, const std::string& ns) {
  if (!spec.has_checkpoint()) return "";
  if (IsObjectUri(spec.checkpoint().uri())) return Bucket(spec.checkpoint());
  const Json pod_template = PodTemplateOf(spec);
  const std::string volume = VolumeAt(pod_template, spec.checkpoint().uri());
  if (volume.empty()) return kDisk;
  for (const Json& known : ArrayField(ObjectField(pod_template, "spec"), "volumes")) {
    if (StringField(known, "name") != volume) continue;
    Json source = known;
    source.erase("name");
    const bool claim = source.contains("persistentVolumeClaim");
    return absl::StrCat(claim ? ns + " " : "", DumpJson(source));
  }
  return kDisk;
}

}  // namespace muster::control
