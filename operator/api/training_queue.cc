#include "operator/api/training_queue.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/json_fields.h"
#include "operator/api/defaults.h"
#include "operator/api/validation.h"

namespace muster::control {

FieldErrors DecodeTrainingQueue(const Json& json, UnknownFields unknown, TrainingQueue& queue) {
  if (!json.is_object() || !json.contains("metadata") || !json["metadata"].is_object()) {
    return {{"metadata", "is missing: a queue needs a name"}};
  }
  const Json& metadata = json["metadata"];
  queue.name = StringField(metadata, "name");
  queue.uid = StringField(metadata, "uid");
  queue.resource_version = StringField(metadata, "resourceVersion");
  if (const auto generation = IntegerField(metadata, "generation")) queue.generation = *generation;
  if (queue.name.empty()) return {{"metadata.name", "is missing"}};
  // The name is the only part of metadata in the proto.
  Json known = json;
  known["metadata"] = {{"name", queue.name}};
  known.erase("apiVersion");
  known.erase("kind");
  if (unknown == UnknownFields::kReport) known.erase("status");
  v1alpha1::TrainingQueue message;
  FieldErrors errors = DecodeMessage(known, "", unknown, message);
  DefaultFromSchema(message);
  FieldErrors wrong = Validate(message, "", errors);
  errors.insert(errors.end(), wrong.begin(), wrong.end());
  queue.spec = std::move(*message.mutable_spec());
  queue.status = std::move(*message.mutable_status());
  return errors;
}

absl::StatusOr<TrainingQueue> ParseTrainingQueue(const Json& json) {
  TrainingQueue queue;
  const FieldErrors errors = DecodeTrainingQueue(json, UnknownFields::kIgnore, queue);
  if (!errors.empty()) return ToStatus(errors);
  return queue;
}

}  // namespace muster::control
