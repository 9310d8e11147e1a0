#ifndef MUSTER_OPERATOR_API_TEMPLATE_GPUS_H_
#define MUSTER_OPERATOR_API_TEMPLATE_GPUS_H_

#include "base/field_error.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Returns one error for each GPU resource that the container `worker` of a job with the built-in
// trainer requests in the pod template; paths start with `spec`. The rule of workers.gpus does not
// cover them, and CEL cannot: the CRD declares no resources of a template.
FieldErrors CheckTemplateGpus(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_TEMPLATE_GPUS_H_
