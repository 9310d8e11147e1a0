#ifndef MUSTER_TOOLS_SCHEMA_COMPATIBILITY_H_
#define MUSTER_TOOLS_SCHEMA_COMPATIBILITY_H_

#include <string>
#include <vector>

#include "base/json.h"

namespace muster::schema {

// What in CustomResourceDefinition `after` would refuse, lose or change objects that are good under
// `before`, or break clients that read them: one sentence each, with the field's path, in the
// order of the paths. Empty: `after` only adds. The rules are those of docs/api-evolution.md.
//
// A new CEL rule of an old object is additive only if it names a field that is new there: it
// cannot refuse objects that were written before the field.
// Pure; thread-safe.
std::vector<std::string> BreakingChanges(const Json& before, const Json& after);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_COMPATIBILITY_H_
