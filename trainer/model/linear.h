#ifndef MUSTER_TRAINER_MODEL_LINEAR_H_
#define MUSTER_TRAINER_MODEL_LINEAR_H_

#include "ATen/core/Tensor.h"

namespace muster::trainer {

// Matrix products as an autograd function. FP32 goes through oneDNN, which on CPUs not made by
// Intel is twice as fast as the BLAS that at::addmm calls; other types, and builds without oneDNN,
// go through at::addmm. Every input that requires a gradient gets one. Deterministic for equal
// shapes and one thread.

// Returns x [rows, in] times weight [in, out] plus bias [out]: the Conv1D of the original GPT-2.
at::Tensor LinearInOut(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// Returns x [rows, in] times the transpose of weight [out, in].
at::Tensor LinearOutIn(const at::Tensor& x, const at::Tensor& weight);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LINEAR_H_
