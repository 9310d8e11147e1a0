#ifndef MUSTER_OPERATOR_API_TRAINING_JOB_H_
#define MUSTER_OPERATOR_API_TRAINING_JOB_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/field_error.h"
#include "base/json.h"
#include "operator/api/codec.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

inline constexpr char kApiVersion[] = "muster.dev/v1alpha1";
inline constexpr char kTrainingJobKind[] = "TrainingJob";

// A TrainingJob as it is in the API server, parsed at the edge. `spec` is as its author wrote it:
// readers apply Default() (operator/api/defaults.h) to a copy and never write that copy back,
// because derived defaults (min, max) would pin values that were left open. A value; no locks.
struct TrainingJob {
  std::string name;
  std::string ns;
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> finalizers;
  std::optional<absl::Time> creation_time;
  std::optional<absl::Time> deletion_time;
  v1alpha1::TrainingJobSpec spec;
  v1alpha1::TrainingJobStatus status;
  // The JSON from which it was parsed. ToJson() takes from here the parts that have no field above.
  Json raw = Json::object();

  bool deleting() const { return deletion_time.has_value(); }
};

// Parses an object from an API server. Unknown fields are kept in `raw`; wrong types fail with an
// error that names every such field.
absl::StatusOr<TrainingJob> ParseTrainingJob(Json json);

// Parses an object as ParseTrainingJob() does, but returns each error separately, and decodes as
// much as it can. Used by manifests.
FieldErrors DecodeTrainingJob(const Json& json, UnknownFields unknown, TrainingJob& job);

// Returns the whole object, ready for Create, Update or UpdateStatus.
Json ToJson(const TrainingJob& job);

// Returns the object for UpdateStatus: the job's identity, `version` as a precondition, and
// `status` with those parts of the status in `raw` that have no field in the message.
Json StatusToJson(const TrainingJob& job, const v1alpha1::TrainingJobStatus& status,
                  const std::string& version);

// The format of Kubernetes' metav1.Time: RFC 3339 in UTC, whole seconds.
std::string FormatTimestamp(absl::Time time);
absl::StatusOr<absl::Time> ParseTimestamp(absl::string_view text);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_TRAINING_JOB_H_
