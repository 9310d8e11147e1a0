#ifndef MUSTER_BASE_YAML_YAML_SCALAR_H_
#define MUSTER_BASE_YAML_YAML_SCALAR_H_

#include "absl/strings/string_view.h"
#include "base/json.h"

namespace muster {

// Returns the value of an unquoted YAML scalar in YAML 1.2's core schema: null, a bool, an integer
// (decimal, 0x, 0o), a float, else a string. Text stays a string if JSON cannot hold its value
// (.inf, .nan, 1e999) or if YAML 1.1 and 1.2 read it differently (leading zeros, yes, 1_000,
// 12:30). Thread-safe.
Json ResolvePlainScalar(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_YAML_YAML_SCALAR_H_
