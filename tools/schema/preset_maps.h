#ifndef MUSTER_TOOLS_SCHEMA_PRESET_MAPS_H_
#define MUSTER_TOOLS_SCHEMA_PRESET_MAPS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace muster::schema {

// Replaces `$presets.width` and the like in a rule's CEL by the map from each preset's name to that
// value, because CEL cannot read planner/model_presets.h.
std::string ExpandPresetMaps(absl::string_view cel);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_PRESET_MAPS_H_
