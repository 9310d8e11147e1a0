#ifndef MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_FROM_SPEC_H_
#define MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_FROM_SPEC_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "operator/queue/book/queue_spec.h"
#include "proto/muster/v1alpha1/training_queue.pb.h"

namespace muster::control {

// Converts a defaulted TrainingQueue to what the cycle uses: quantities in a resource's smallest
// counted unit, millicores for "cpu". InvalidArgument, with the field, for a malformed quantity.
absl::StatusOr<QueueSpec> QueueFromSpec(const std::string& name,
                                        const v1alpha1::TrainingQueueSpec& spec);

// Parses a quantity of a resource, in that unit.
absl::StatusOr<int64_t> AmountOf(const std::string& resource, const std::string& quantity);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_FROM_SPEC_H_
