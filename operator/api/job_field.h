#ifndef MUSTER_OPERATOR_API_JOB_FIELD_H_
#define MUSTER_OPERATOR_API_JOB_FIELD_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json.h"

namespace muster::control {

// Accessors by which tests read a TrainingJob that is still JSON, by the path of a field:
// {"status", "failures", "count"}. A path that the API does not have ends the program: it is absent
// from every job, so an assertion that it is absent could not fail.

// Returns the value, or nullptr if it is absent.
const Json* JobField(const Json& job, std::initializer_list<std::string_view> path);
// Returns 0 if the field is absent, as counters and steps are at first. A field of another type
// ends the program.
int64_t JobNumber(const Json& job, std::initializer_list<std::string_view> path);
// Returns "" if the field is absent. A field of another type ends the program.
std::string JobText(const Json& job, std::initializer_list<std::string_view> path);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_JOB_FIELD_H_
