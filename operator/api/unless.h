#ifndef MUSTER_OPERATOR_API_UNLESS_H_
#define MUSTER_OPERATOR_API_UNLESS_H_

#include <optional>
#include <string>
#include <utility>

namespace muster::control {

// Returns the answer of a rule's predicate (rules.h): nullopt if the rule holds, else `detail`, the
// offending values.
inline std::optional<std::string> Unless(bool holds, std::string detail = "") {
  return holds ? std::nullopt : std::make_optional(std::move(detail));
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_UNLESS_H_
