#ifndef MUSTER_OPERATOR_API_DEFAULTS_H_
#define MUSTER_OPERATOR_API_DEFAULTS_H_

#include "google/protobuf/message.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Fills absent fields with the defaults of training_job.proto, as an API server does from the CRD:
// a nested default counts only where its parent is present or has a default itself. Idempotent.
void DefaultFromSchema(google::protobuf::Message& message);

// DefaultFromSchema, then what a schema cannot say: workers.min and workers.max are count when
// absent. After it every scalar that has a default is present. Idempotent.
void Default(v1alpha1::TrainingJobSpec& spec);

// Ranks of one worker: its GPUs, or `ranks` when it has none. Of a defaulted spec.
int RanksPerWorker(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_DEFAULTS_H_
