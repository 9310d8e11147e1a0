#include "tests/bench/shape_json.h"

#include <string>

#include "base/status_macros.h"

namespace muster::trainer {

absl::StatusOr<planner::ModelShape> ShapeOf(const Json& json) {
  planner::ModelShape shape;
  MUSTER_ASSIGN_OR_RETURN(shape.family,
                          planner::ParseModelFamily(json.value("family", std::string("gpt2"))));
  shape.layers = json.at("layers");
  shape.heads = json.at("heads");
  shape.width = json.at("width");
  shape.positions = json.at("positions");
  shape.vocabulary = json.at("vocabulary");
  shape.dropout = 0;
  shape.tied_head = shape.family != planner::ModelFamily::kLlama;
  shape.key_value_heads = json.value("keyValueHeads", 0);
  shape.feed_forward_width = json.value("feedForwardWidth", 0);
  shape.rope_theta = json.value("ropeTheta", shape.rope_theta);
  return shape;
}

}  // namespace muster::trainer
