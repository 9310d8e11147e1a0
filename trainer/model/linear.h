#ifndef MUSTER_TRAINER_MODEL_LINEAR_H_
#define MUSTER_TRAINER_MODEL_LINEAR_H_

#include "ATen/core/Tensor.h"

namespace muster::trainer {

// Matrix products with an autograd function of our own. FP32 goes through oneDNN, which on CPUs
// without Intel's name is twice as fast as the BLAS that at::addmm calls; other types, and builds
// without oneDNN, go through at::addmm. Gradients: of all inputs that ask for one. Deterministic
// for equal shapes and one thread.

// x [rows, in] times weight [in, out] plus bias [out]: the Conv1D of the original GPT-2.
at::Tensor LinearInOut(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// x [rows, in] times the transpose of weight [out, in].
at::Tensor LinearOutIn(const at::Tensor& x, const at::Tensor& weight);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LINEAR_H_
