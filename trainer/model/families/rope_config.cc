#include "trainer/model/families/rope_config.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

using planner::RopeScaling;

constexpr char kField[] = "rope_scaling";

bool IsKnown(const std::string& field) {
  return field == "rope_type" || field == "type" || field == "rope_theta" || field == "factor" ||
         field == "low_freq_factor" || field == "high_freq_factor" ||
         field == "original_max_position_embeddings";
}

// Without a type and a factor there is no scaling: the object holds the base alone.
Json TypeOf(const Json& json) {
  if (!json.is_object()) return Json();
  for (const char* field : {"rope_type", "type"}) {
    if (const Json type = json.value(field, Json()); !type.is_null()) return type;
  }
  return json.value("factor", Json()).is_null() ? Json("default") : Json();
}

void ReadLlama3(const Json& json, ConfigReader& config, RopeScaling& scaling) {
  const Json low = json.value("low_freq_factor", Json()),
             high = json.value("high_freq_factor", Json()),
             original = json.value("original_max_position_embeddings", Json());
  if (!low.is_number() || !high.is_number() || !original.is_number_integer() || original < 1 ||
      original > (1 << 24)) {
    return config.Fail(absl::StrCat(kField,
                                    " of kind llama3 needs the numbers low_freq_factor, "
                                    "high_freq_factor and original_max_position_embeddings"));
  }
  scaling.low_frequency_factor = low.get<double>();
  scaling.high_frequency_factor = high.get<double>();
  scaling.original_positions = original.get<int32_t>();
}

}  // namespace

Json RopeScalingJson(const RopeScaling& scaling) {
  switch (scaling.kind) {
    case RopeScaling::Kind::kNone:
      return {};
    case RopeScaling::Kind::kLinear:
      return {{"factor", scaling.factor}, {"rope_type", "linear"}};
    case RopeScaling::Kind::kLlama3:
      return {{"factor", scaling.factor},
              {"high_freq_factor", scaling.high_frequency_factor},
              {"low_freq_factor", scaling.low_frequency_factor},
              {"original_max_position_embeddings", scaling.original_positions},
              {"rope_type", "llama3"}};
  }
  return {};
}

RopeScaling ReadRopeScaling(ConfigReader& config) {
  const Json& json = config.Find(kField);
  if (json.is_null()) return {};
  const Json type = TypeOf(json);
  RopeScaling scaling;
  if (type == "linear") scaling.kind = RopeScaling::Kind::kLinear;
  if (type == "llama3") scaling.kind = RopeScaling::Kind::kLlama3;
  if (scaling.kind == RopeScaling::Kind::kNone && type != "default") {
    config.Fail(absl::StrCat(kField, " is ", DumpJson(json),
                             ", and only default, linear and llama3 are supported"));
    return {};
  }
  for (const auto& [field, value] : json.items()) {
    if (value.is_null() || IsKnown(field)) continue;
    config.Fail(absl::StrCat(kField, " has ", field, ", which is not known here"));
  }
  if (type == "default") return {};
  const Json factor = json.value("factor", Json());
  if (!factor.is_number() || factor < 1) {
    config.Fail(absl::StrCat(kField, " needs a factor of at least 1"));
    return {};
  }
  scaling.factor = factor.get<double>();
  if (scaling.kind == RopeScaling::Kind::kLlama3) ReadLlama3(json, config, scaling);
  return scaling;
}

}  // namespace muster::trainer
