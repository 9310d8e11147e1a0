#ifndef MUSTER_TRAINER_OPTIM_MATRIX_OWNERS_H_
#define MUSTER_TRAINER_OPTIM_MATRIX_OWNERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// A matrix that ranks hold together, and the elements of it that this rank has: of its part of the
// matrix, in memory's order, those in its slice of the unit.
struct SharedMatrix {
  int unit = 0;
  int64_t unit_elements = 0;
  OptimizerTensor tensor;
  int64_t begin = 0;  // of this rank's elements in its slice of the unit
  int64_t count = 0;

  static SharedMatrix Of(const std::vector<OptimizerUnit>& units, int unit,
                         const OptimizerTensor& tensor);
};

// Turns matrices into others of the same shapes, each as a whole on one of the ranks that hold it:
// the owners take turns. Their slices are gathered there among the ranks of the shard group, then
// their parts among those of the tensor group; the results go back the same way, and from there to
// the ranks that hold the same slices. Ranks with equal elements get equal results. A rank has at
// most eight times the elements of its largest matrix in memory meanwhile.
class MatrixOwners {
 public:
  // Both must outlive this.
  MatrixOwners(const std::vector<SharedMatrix>& matrices, const OptimizerContext& context)
      : matrices_(matrices), context_(context) {}

  // Returns this rank's elements of a matrix, flat and contiguous.
  using Read = absl::FunctionRef<absl::StatusOr<at::Tensor>(size_t matrix)>;
  // Turns a whole matrix into another one, on its owner.
  using Turn = absl::FunctionRef<at::Tensor(const at::Tensor& matrix)>;

  // Writes what becomes of this rank's elements into `out`, by matrix, whose tensors are flat and
  // have memory. All ranks of the context call it. Errors are those of Read and of collectives.
  absl::Status Run(Read read, Turn turn, const std::vector<at::Tensor>& out) const;

 private:
  // The matrices that the same ranks hold, and these ranks.
  struct Holders {
    std::vector<size_t> matrices;
    Communicator* replicas = nullptr;
    Communicator* shard = nullptr;
    Communicator* tensor = nullptr;
  };
  class Round;

  std::vector<Holders> FindHolders() const;

  const std::vector<SharedMatrix>& matrices_;
  const OptimizerContext& context_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_MATRIX_OWNERS_H_
