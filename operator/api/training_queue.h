#ifndef MUSTER_OPERATOR_API_TRAINING_QUEUE_H_
#define MUSTER_OPERATOR_API_TRAINING_QUEUE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/field_error.h"
#include "base/json.h"
#include "operator/api/codec.h"
#include "proto/muster/v1alpha1/training_queue.pb.h"

namespace muster::control {

inline constexpr char kTrainingQueueKind[] = "TrainingQueue";

// A TrainingQueue, with defaults filled in. A value; no locks.
struct TrainingQueue {
  std::string name;
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  v1alpha1::TrainingQueueSpec spec;
  v1alpha1::TrainingQueueStatus status;
};

// Parses an object from an API server. Unknown fields are ignored.
absl::StatusOr<TrainingQueue> ParseTrainingQueue(const Json& json);

// Parses an object as ParseTrainingQueue() does, but returns each error separately. Use kReport as
// `unknown` for objects that people wrote. The CustomResourceDefinition accepts every object
// without errors.
FieldErrors DecodeTrainingQueue(const Json& json, UnknownFields unknown, TrainingQueue& queue);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_TRAINING_QUEUE_H_
