#ifndef MUSTER_OPERATOR_API_TEMPLATE_GPUS_H_
#define MUSTER_OPERATOR_API_TEMPLATE_GPUS_H_

#include "base/field_error.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Judges the GPUs that the container `worker` of a job with the built-in trainer requests in the
// pod template: they are NVIDIA's, and the limits are as many as workers.gpus, because each rank
// computes on one. Otherwise GPUs would be held and not used, or ranks would have none. Paths start
// with `spec`. CEL cannot check this: the CRD declares no resources of a template.
FieldErrors CheckTemplateGpus(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_TEMPLATE_GPUS_H_
