#ifndef MUSTER_TRAINER_MODEL_LAYERS_ALIBI_H_
#define MUSTER_TRAINER_MODEL_LAYERS_ALIBI_H_

#include <cstdint>

#include "ATen/core/Tensor.h"
#include "c10/core/ScalarType.h"

namespace muster::trainer {

// Attention with linear biases (Press et al., 2022): each head's scores fall with the distance of
// the key, by a slope of its own.

// Returns the slopes, [heads]. For a number of heads that is no power of two, the paper's code
// takes those of the next lower power and every second one of the next higher.
at::Tensor AlibiSlopes(int64_t heads, c10::ScalarType type);

// Keeps the biases of the positions that it was asked for last, for all blocks of a model. Not
// thread-safe.
class AlibiTable {
 public:
  explicit AlibiTable(int64_t heads) : heads_(heads) {}

  // Returns [1, heads, sequence, sequence]: minus infinity for keys after the query. `positions` is
  // int64 [sequence]. They are computed in FP64 for kDouble and in FP32 otherwise, and returned in
  // `type`.
  const at::Tensor& For(const at::Tensor& positions, c10::ScalarType type);

 private:
  const int64_t heads_;
  at::Tensor positions_;
  at::Tensor biases_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_ALIBI_H_
