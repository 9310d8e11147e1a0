#ifndef MUSTER_TESTS_BENCH_SHAPE_JSON_H_
#define MUSTER_TESTS_BENCH_SHAPE_JSON_H_

#include "absl/status/statusor.h"
#include "base/json.h"
#include "planner/model_shape.h"

namespace muster::trainer {

// Reads {layers, heads, width, positions, vocabulary} of a benchmark's model, and, of another
// family than GPT-2, {family, keyValueHeads, feedForwardWidth, ropeTheta}. GPT-2 and BLOOM tie the
// head to the embedding, LLaMA does not; there is no dropout. InvalidArgument for an unknown
// family.
absl::StatusOr<planner::ModelShape> ShapeOf(const Json& json);

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_BENCH_SHAPE_JSON_H_
