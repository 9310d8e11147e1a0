#ifndef MUSTER_OPERATOR_QUEUE_RECORD_RECORDED_INPUT_H_
#define MUSTER_OPERATOR_QUEUE_RECORD_RECORDED_INPUT_H_

#include "absl/status/statusor.h"
#include "operator/queue/decision_input.h"
#include "proto/muster/v1alpha1/decision_record.pb.h"

namespace muster::control {

v1alpha1::RecordedInput ToRecorded(const DecisionInput& input);
// kDataLoss for values that no input can have, so that every result can be run.
absl::StatusOr<DecisionInput> FromRecorded(const v1alpha1::RecordedInput& recorded);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_RECORD_RECORDED_INPUT_H_
