#ifndef MUSTER_OPERATOR_API_VALIDATION_H_
#define MUSTER_OPERATOR_API_VALIDATION_H_

#include "absl/strings/string_view.h"
#include "base/field_error.h"
#include "google/protobuf/message.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Local checks equivalent to the CRD's schema and CEL rules: the field options of
// training_job.proto, and one C++ predicate for each rule. Stateless; thread-safe.

// Returns all errors of a spec after Default(), including those that CEL cannot find
// (template_gpus.h). Paths start with `spec`.
FieldErrors Validate(const v1alpha1::TrainingJobSpec& spec);

// Does the same for a job, and also checks the rule for its name. Skips a rule if a field that it
// reads, or a likely misspelling of one, is in `unread` (fields that could not be decoded): it
// would check a default that the author did not write.
FieldErrors Validate(const v1alpha1::TrainingJob& job, const FieldErrors& unread);

// Does the same for any message of training_job.proto, without the errors that CEL cannot find.
FieldErrors Validate(const google::protobuf::Message& message, absl::string_view path,
                     const FieldErrors& unread);

// Checks only the field options of any message of training_job.proto, and no rules.
FieldErrors ValidateFields(const google::protobuf::Message& message, absl::string_view path);

// Returns an error for each immutable field that differs. Both specs must be after Default().
FieldErrors ValidateUpdate(const v1alpha1::TrainingJobSpec& before,
                           const v1alpha1::TrainingJobSpec& after);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_VALIDATION_H_
