#ifndef MUSTER_OPERATOR_API_JOB_FIELD_H_
#define MUSTER_OPERATOR_API_JOB_FIELD_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json.h"

namespace muster::control {

// Tests read a TrainingJob that is still JSON by the path of a field: {"status", "failures",
// "count"}. A path that the API does not have ends the program: nothing is ever found at it, so an
// assertion that nothing is there could not fail.

// The value, nullptr when absent.
const Json* JobField(const Json& job, std::initializer_list<std::string_view> path);
// 0 when absent, as a counter or a step is before the first of it. Another type ends the program.
int64_t JobNumber(const Json& job, std::initializer_list<std::string_view> path);
// "" when absent. Another type ends the program.
std::string JobText(const Json& job, std::initializer_list<std::string_view> path);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_JOB_FIELD_H_
