#ifndef MUSTER_TOOLS_SCHEMA_COMPATIBILITY_H_
#define MUSTER_TOOLS_SCHEMA_COMPATIBILITY_H_

#include <string>
#include <vector>

#include "base/json.h"

namespace muster::schema {

// Lists the changes from CustomResourceDefinition `before` to `after` that would refuse, lose or
// change valid objects, or break clients that read them: one sentence each, with the field's path,
// sorted by path. Empty if `after` only adds. The rules are those of docs/api-evolution.md.
//
// A new CEL rule on an existing object counts as additive only if it names a field that is new
// there: it cannot refuse objects that were written before the field existed.
// Pure; thread-safe.
std::vector<std::string> BreakingChanges(const Json& before, const Json& after);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_COMPATIBILITY_H_
