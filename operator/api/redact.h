#ifndef MUSTER_OPERATOR_API_REDACT_H_
#define MUSTER_OPERATOR_API_REDACT_H_

#include "base/json.h"

namespace muster::control {

// The replacement of a value that may be a secret.
inline constexpr char kRedacted[] = "(redacted)";

// Hides the values of environment variables in a TrainingJob's pod template, in all its containers;
// names and references stay. Every place that shows a job, rather than storing it, must call it.
// Pure.
void RedactEnvironment(Json& job);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_REDACT_H_
