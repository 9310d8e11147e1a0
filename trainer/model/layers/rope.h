#ifndef MUSTER_TRAINER_MODEL_LAYERS_ROPE_H_
#define MUSTER_TRAINER_MODEL_LAYERS_ROPE_H_

#include <cstdint>

#include "ATen/core/Tensor.h"
#include "c10/core/ScalarType.h"
#include "planner/model_shape.h"

namespace muster::trainer {

// Rotary position embeddings (Su et al., 2021), with pairs that lie half a head apart, as
// transformers stores LLaMA's weights.

// The angles of some positions; they are computed in the type that they are asked for in, so that
// FP32 has the angles that published models were trained with.
struct RopeAngles {
  at::Tensor cosine;  // [sequence, head width / 2]
  at::Tensor sine;
};

// Returns the frequency of each pair, [head width / 2], in radians per position.
at::Tensor RopeFrequencies(const planner::ModelShape& shape, c10::ScalarType type);

// Keeps the angles of the positions that it was asked for last, for all blocks of a model. Not
// thread-safe.
class RopeTable {
 public:
  explicit RopeTable(const planner::ModelShape& shape) : shape_(shape) {}

  // `positions` is int64 [sequence]. Double for double, else float.
  const RopeAngles& For(const at::Tensor& positions, c10::ScalarType type);

 private:
  const planner::ModelShape shape_;
  at::Tensor positions_;
  RopeAngles angles_;
};

// Turns x [batch, heads, sequence, head width] by the angles of its positions.
at::Tensor Turn(const at::Tensor& x, const RopeAngles& angles);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_ROPE_H_
