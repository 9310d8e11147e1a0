#ifndef MUSTER_TRAINER_OPTIM_TENSOR_SQUARES_H_
#define MUSTER_TRAINER_OPTIM_TENSOR_SQUARES_H_

#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// Sums the squares of the elements of whole tensors, wherever ranks cut them. The elements of a
// tensor in one chunk of its unit are one partial sum, and partial sums are added in the order of
// chunks, then of parts, so the number of shards changes no bit. Ranks send one FP64 number for
// each partial sum of this rank's part of the model, and one for each tensor and part. Not
// thread-safe.
class TensorSquares {
 public:
  // Makes sums of `kinds` numbers that belong to each element of the units.
  TensorSquares(const std::vector<OptimizerUnit>& units, int kinds);

  // Sets all sums to zero.
  void Begin();
  // Adds the numbers of some of the slice's elements, from `begin` of the unit on. They begin and
  // end where a chunk or a tensor does, with its padding, which is zero. Each element is added
  // once.
  void Add(int kind, int unit, int64_t begin, const at::Tensor& numbers);
  // Adds up what all ranks have. Called by all ranks, which return the same: the sums by kind, by
  // unit and by its tensors.
  absl::StatusOr<std::vector<std::vector<std::vector<double>>>> Sum(
      const OptimizerContext& context) const;

 private:
  // A tensor's run of partial sums, one for each chunk of the unit that it touches.
  struct Partials {
    int64_t begin = 0, end = 0;              // elements of the unit, with the padding
    int64_t first_chunk = 0, first_sum = 0;  // of the unit, of one kind's sums
    int64_t count = 0;
    ModelPart part;
  };

  absl::StatusOr<std::vector<double>> SumOwnParts(const OptimizerContext& context) const;

  const int kinds_;
  std::vector<std::vector<Partials>> partials_;  // by unit and tensor
  int64_t partials_count_ = 0;                   // of one kind
  at::Tensor sums_;  // FP64 [kinds, partials_count_], where the units are
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_TENSOR_SQUARES_H_
