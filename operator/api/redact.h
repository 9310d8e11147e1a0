#ifndef MUSTER_OPERATOR_API_REDACT_H_
#define MUSTER_OPERATOR_API_REDACT_H_

#include "base/json.h"

namespace muster::control {

// This stands in the place of a value that may be a secret.
inline constexpr char kRedacted[] = "(redacted)";

// Hides the values of environment variables in a TrainingJob's pod template, of all its containers;
// names and references stay. Every place that shows a job, but is not the object, calls it. Pure.
void RedactEnvironment(Json& job);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_REDACT_H_
