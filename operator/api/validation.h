#ifndef MUSTER_OPERATOR_API_VALIDATION_H_
#define MUSTER_OPERATOR_API_VALIDATION_H_

#include "absl/strings/string_view.h"
#include "base/field_error.h"
#include "google/protobuf/message.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// What the CRD's schema and CEL rules say, said locally: the field options of training_job.proto,
// and one C++ predicate for each rule. Stateless; thread-safe.

// Every error of a spec after Default(), with what CEL cannot say (template_gpus.h); paths start
// with `spec`.
FieldErrors Validate(const v1alpha1::TrainingJobSpec& spec);

// The same for any message of training_job.proto. Rules over a message that has a part in `unread`
// (fields that could not be decoded) are left out: they would judge values that nobody wrote.
FieldErrors Validate(const google::protobuf::Message& message, absl::string_view path,
                     const FieldErrors& unread);

// Only the field options of any message of training_job.proto; no rules.
FieldErrors ValidateFields(const google::protobuf::Message& message, absl::string_view path);

// Fields that may not change once the job is made. Both specs after Default().
FieldErrors ValidateUpdate(const v1alpha1::TrainingJobSpec& before,
                           const v1alpha1::TrainingJobSpec& after);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_VALIDATION_H_
