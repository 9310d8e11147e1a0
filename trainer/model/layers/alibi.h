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

// The heads [first, first + count) of a model.
struct HeadRange {
  int64_t first = 0;
  int64_t count = 0;

  bool operator==(const HeadRange&) const = default;
};

// The biases of all blocks of a model. Not thread-safe.
class AlibiTable {
 public:
  explicit AlibiTable(int64_t heads) : heads_(heads) {}

  // Returns the biases of some heads, [1, heads, queries, keys], on the positions' device:
  // slope * (key - query), or minus infinity for a key after the query. `queries` and `keys` are
  // positions in the whole sequence, int64 [queries] and [keys]. Biases are computed in FP64 for
  // kDouble and in FP32 otherwise, and returned in `type`.
  at::Tensor Between(const at::Tensor& queries, const at::Tensor& keys, const HeadRange& heads,
                     c10::ScalarType type) const;
  // Returns Between(positions, positions, heads, type). The table keeps the result, and returns it
  // again for equal arguments. The reference is valid until the next call.
  const at::Tensor& For(const at::Tensor& positions, const HeadRange& heads, c10::ScalarType type);

 private:
  const int64_t heads_;  // of the model
  at::Tensor positions_;
  HeadRange of_heads_;
  at::Tensor biases_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_ALIBI_H_
