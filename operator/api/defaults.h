#ifndef MUSTER_OPERATOR_API_DEFAULTS_H_
#define MUSTER_OPERATOR_API_DEFAULTS_H_

#include "google/protobuf/message.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Fills absent fields with the defaults of training_job.proto, as an API server does from the CRD:
// a nested default applies only if its parent is present or has a default itself. Idempotent.
void DefaultFromSchema(google::protobuf::Message& message);

// Applies DefaultFromSchema(), then the defaults that no schema can express: an absent workers.min
// or workers.max becomes count. Afterwards every scalar that has a default is present. Idempotent.
void Default(v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_DEFAULTS_H_
