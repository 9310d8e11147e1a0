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

// A TrainingJob as it stands in the API server, parsed at the edge. `spec` is as its author wrote
// it: readers apply Default() (operator/api/defaults.h) to a copy and never write that copy back,
// because derived defaults (min, max) would pin what was left open. A value; no locks.
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
  // What it was parsed from; ToJson keeps from here what the fields above do not know.
  Json raw = Json::object();

  bool deleting() const { return deletion_time.has_value(); }
};

// Parses what an API server sent: unknown fields are kept in `raw`, anything of a wrong type fails
// with every field named.
absl::StatusOr<TrainingJob> ParseTrainingJob(Json json);

// As above, but says each error by itself and decodes what it can; used by manifests.
FieldErrors DecodeTrainingJob(const Json& json, UnknownFields unknown, TrainingJob& job);

// The whole object, ready for Create, Update or UpdateStatus.
Json ToJson(const TrainingJob& job);

// What UpdateStatus needs of it: who it is, `version` as a precondition, and the status, with what
// `raw` has of it and the message does not know.
Json StatusToJson(const TrainingJob& job, const v1alpha1::TrainingJobStatus& status,
                  const std::string& version);

// RFC 3339 in UTC, whole seconds, as Kubernetes' metav1.Time.
std::string FormatTimestamp(absl::Time time);
absl::StatusOr<absl::Time> ParseTimestamp(absl::string_view text);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_TRAINING_JOB_H_
