#ifndef MUSTER_BASE_YAML_YAML_SCALAR_H_
#define MUSTER_BASE_YAML_YAML_SCALAR_H_

#include "absl/strings/string_view.h"
#include "base/json.h"

namespace muster {

// What an unquoted YAML scalar means in YAML 1.2's core schema: null, a bool, an integer (decimal,
// 0x, 0o), a float, else a string. Stays a string what JSON cannot hold (.inf, .nan, 1e999) and
// what YAML 1.1 and 1.2 read differently (leading zeros, yes, 1_000, 12:30). Thread-safe.
Json ResolvePlainScalar(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_YAML_YAML_SCALAR_H_
