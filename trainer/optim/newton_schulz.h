#ifndef MUSTER_TRAINER_OPTIM_NEWTON_SCHULZ_H_
#define MUSTER_TRAINER_OPTIM_NEWTON_SCHULZ_H_

#include "ATen/core/Tensor.h"

namespace muster::trainer {

// Returns about U V^T of a matrix U S V^T, as Muon does (Jordan et al., 2024): 5 steps of
//   X <- a X + (b A + c A^2) X,   A = X X^T,   a = 3.4445, b = -4.7750, c = 2.0315
// from X = matrix / (|matrix| + 1e-7) on, in the matrix's type, of the transposed matrix if it has
// more rows than columns. The singular values of the result are between about 0.7 and 1.2. Takes
// memory for two more matrices of its shape and three of its smaller side squared.
at::Tensor Orthogonalize(const at::Tensor& matrix);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_NEWTON_SCHULZ_H_
