#ifndef MUSTER_OPERATOR_API_TEMPLATE_QUANTITIES_H_
#define MUSTER_OPERATOR_API_TEMPLATE_QUANTITIES_H_

#include "base/field_error.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Returns an error for each amount of the pod template that the API server would refuse in a pod:
// what is no quantity, negative amounts, and parts of what is counted in whole pieces, such as
// GPUs. Placement would take such an amount for zero. Pure.
FieldErrors CheckTemplateQuantities(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_TEMPLATE_QUANTITIES_H_
