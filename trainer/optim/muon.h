#ifndef MUSTER_TRAINER_OPTIM_MUON_H_
#define MUSTER_TRAINER_OPTIM_MUON_H_

#include <memory>
#include <vector>

#include "trainer/optim/optimizer.h"

namespace muster::trainer {

// Muon (Jordan et al., 2024) in the form of Liu et al. (2025), for each matrix x of gradient g:
//   m <- beta1 m + g
//   x <- (1 - rate decay) x - rate 0.2 sqrt(max(rows, columns)) O(g + beta1 m)
// where O(U S V^T) is about U V^T, by five Newton-Schulz steps. The factor gives its steps the size
// of AdamW's, so that rate and decay are AdamW's. AdamW updates tensors of one or of more than two
// dimensions, and those of the model's first and last block, which are its embeddings and its head.
//
// Prepare() turns each whole matrix on one of the ranks that hold it (matrix_owners.h). The state
// is exp_avg, which is m, and exp_avg_sq, which stays zero for matrices. Beside it there is scratch
// memory of one number for each element of matrices in this rank's slices.
std::unique_ptr<Optimizer> MakeMuon(const OptimizerOptions& options,
                                    std::vector<OptimizerUnit> units);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_MUON_H_
