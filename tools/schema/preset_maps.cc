#include "tools/schema/preset_maps.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "planner/model_presets.h"

namespace muster::schema {
namespace {

using planner::ModelPreset;
using planner::ModelShape;

std::string Map(const std::function<std::string(const ModelShape&)>& value) {
  const auto entry = [&value](std::string* out, const ModelPreset& preset) {
    absl::StrAppend(out, "'", preset.name, "': ", value(preset.shape));
  };
  return absl::StrCat("{", absl::StrJoin(planner::ModelPresets(), ", ", entry), "}");
}

std::string Numbers(int32_t ModelShape::* member) {
  return Map([member](const ModelShape& shape) { return absl::StrCat(shape.*member); });
}

}  // namespace

std::string ExpandPresetMaps(absl::string_view cel) {
  return absl::StrReplaceAll(
      cel, {{"$presets.width", Numbers(&ModelShape::width)},
            {"$presets.heads", Numbers(&ModelShape::heads)},
            {"$presets.positions", Numbers(&ModelShape::positions)},
            // Where every head has keys and values of its own, any number of heads will do.
            {"$presets.keyValueHeads", Map([](const ModelShape& shape) {
               return absl::StrCat(std::max(1, shape.key_value_heads));
             })},
            {"$presets.family", Map([](const ModelShape& shape) {
               return absl::StrCat("'", planner::Name(shape.family), "'");
             })}});
}

}  // namespace muster::schema
