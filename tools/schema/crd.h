#ifndef MUSTER_TOOLS_SCHEMA_CRD_H_
#define MUSTER_TOOLS_SCHEMA_CRD_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/json.h"
#include "google/protobuf/descriptor.h"

namespace muster::schema {

// The CustomResourceDefinition (apiextensions v1) of a message whose options set `kind`: its
// structural schema, defaults, CEL rules, printer columns, and the subresources status and, for a
// scalable kind, scale. Thread-safe.
Json MakeCrd(const google::protobuf::Descriptor& root);

// The structural schema of any message of the API's protos. Thread-safe.
Json MakeSchema(const google::protobuf::Descriptor& message);

// Replaces `$presets.width` and the like in a rule's CEL by the map from each preset's name to that
// value, because CEL cannot read planner/model_presets.h.
std::string ExpandPresetMaps(absl::string_view cel);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_CRD_H_
