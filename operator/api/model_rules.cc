#include "operator/api/model_rules.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "operator/api/unless.h"
#include "planner/layout.h"
#include "planner/model_presets.h"

namespace muster::control {
namespace {

using v1alpha1::ModelSpec;
using v1alpha1::RopeScalingSpec;
using v1alpha1::TrainerSpec;

// Returns the shape as far as the spec says, with the members that the rules judge; 0 is unknown.
planner::ModelShape ShapeOf(const ModelSpec& model) {
  planner::ModelShape shape;
  if (const auto* preset = planner::FindModelPreset(model.preset()); preset != nullptr) {
    shape = preset->shape;
  } else if (const auto family = planner::ParseModelFamily(model.family()); family.ok()) {
    shape.family = *family;
  }
  if (model.has_heads()) shape.heads = model.heads();
  if (model.has_width()) shape.width = model.width();
  if (model.has_positions()) shape.positions = model.positions();
  if (model.has_key_value_heads()) shape.key_value_heads = model.key_value_heads();
  return shape;
}

}  // namespace

std::optional<std::string> SequenceFitsPositions(const TrainerSpec& trainer) {
  const int32_t positions = ShapeOf(trainer.model()).positions;
  return Unless(positions == 0 || trainer.train().sequence() <= positions,
                absl::StrCat("here ", trainer.train().sequence(), " and ", positions));
}

std::optional<std::string> TensorDividesHeads(const TrainerSpec& trainer) {
  const planner::ModelShape shape = ShapeOf(trainer.model());
  const int32_t tensor = planner::TensorOf(trainer.parallelism());
  const int32_t heads = shape.key_value_heads > 0 ? shape.key_value_heads : shape.heads;
  return Unless(heads < 1 || heads % tensor == 0, absl::StrCat("here ", tensor, " and ", heads));
}

std::optional<std::string> ContextDividesHeads(const TrainerSpec& trainer) {
  const v1alpha1::ParallelismSpec& parallelism = trainer.parallelism();
  const int32_t context = planner::ContextOf(parallelism);
  if (context == 1 || parallelism.context_exchange() == "Ring") return {};
  const int32_t heads = ShapeOf(trainer.model()).heads, tensor = planner::TensorOf(parallelism);
  return Unless(heads < 1 || heads % (context * tensor) == 0,
                absl::StrCat("here ", context, " x ", tensor, " and ", heads));
}

std::optional<std::string> ModelHasShape(const ModelSpec& model) {
  return Unless(
      model.has_torch_script() || model.has_preset() ||
      (model.has_layers() && model.has_heads() && model.has_width() && model.has_positions()));
}

std::optional<std::string> ScriptHasShape(const ModelSpec& model) {
  return Unless(!model.has_torch_script() ||
                !(model.has_preset() || model.has_family() || model.has_layers() ||
                  model.has_heads() || model.has_key_value_heads() || model.has_width() ||
                  model.has_feed_forward_width() || model.has_positions() || model.has_rope() ||
                  model.has_tied_head() || model.has_norm_epsilon() || model.dropout() > 0 ||
                  model.has_uri()));
}

std::optional<std::string> PresetHasFamily(const ModelSpec& model) {
  return Unless(!model.has_preset() || !model.has_family());
}

std::optional<std::string> HeadsDivideWidth(const ModelSpec& model) {
  const planner::ModelShape shape = ShapeOf(model);
  if (shape.width < 1 || shape.heads < 1) return {};
  return Unless(shape.width % shape.heads == 0,
                absl::StrCat("here ", shape.width, " and ", shape.heads));
}

std::optional<std::string> OptionsOfLlama(const ModelSpec& model) {
  const planner::ModelFamily family = ShapeOf(model).family;
  return Unless(family == planner::ModelFamily::kLlama ||
                    !(model.has_key_value_heads() || model.has_feed_forward_width() ||
                      model.has_rope() || model.has_tied_head()),
                absl::StrCat("here the family is ", planner::Name(family)));
}

std::optional<std::string> KeyValueHeadsDivideHeads(const ModelSpec& model) {
  const planner::ModelShape shape = ShapeOf(model);
  if (shape.heads < 1 || shape.key_value_heads < 1) return {};
  return Unless(shape.heads % shape.key_value_heads == 0,
                absl::StrCat("here ", shape.heads, " and ", shape.key_value_heads));
}

std::optional<std::string> RopeTurnsPairs(const ModelSpec& model) {
  const planner::ModelShape shape = ShapeOf(model);
  if (shape.family != planner::ModelFamily::kLlama || shape.width < 1 || shape.heads < 1) return {};
  return Unless(shape.head_width() % 2 == 0,
                absl::StrCat("here ", shape.width, " and ", shape.heads));
}

std::optional<std::string> RopeScalingOfKind(const RopeScalingSpec& scaling) {
  if (scaling.kind() == "llama3") return Unless(scaling.has_original_positions());
  return Unless(!scaling.has_original_positions() && !scaling.has_low_frequency_factor() &&
                !scaling.has_high_frequency_factor());
}

std::optional<std::string> FrequencyFactorsOrder(const RopeScalingSpec& scaling) {
  const double low = scaling.has_low_frequency_factor() ? scaling.low_frequency_factor() : 1.0;
  const double high = scaling.has_high_frequency_factor() ? scaling.high_frequency_factor() : 4.0;
  return Unless(low < high, absl::StrCat("here ", low, " and ", high));
}

}  // namespace muster::control
