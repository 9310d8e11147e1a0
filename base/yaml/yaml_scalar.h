#ifndef MUSTER_BASE_YAML_YAML_SCALAR_H_
#define MUSTER_BASE_YAML_YAML_SCALAR_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "base/json.h"

namespace muster {

// Returns the value of an unquoted YAML scalar in YAML 1.2's core schema: null, a bool, an integer
// (decimal, 0x, 0o), a float, else a string. Text stays a string if JSON cannot hold its value
// (.inf, .nan, 1e999) or if YAML 1.1 and 1.2 read it differently (leading zeros, yes, 1_000,
// 12:30). Thread-safe.
Json ResolvePlainScalar(absl::string_view text);

// Returns the value that kubectl reads there, by the rules of YAML 1.1 that Go's reader follows, if
// it is another one: true for `yes`, 256 for `0400`, 1000 for `1_000`.
std::optional<Json> OtherValueForKubectl(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_BASE_YAML_YAML_SCALAR_H_
