#ifndef MUSTER_TRAINER_KERNELS_FP8_MATRIX_H_
#define MUSTER_TRAINER_KERNELS_FP8_MATRIX_H_

#include "ATen/core/Tensor.h"
#include "c10/core/ScalarType.h"
#include "trainer/kernels/layer_kernels.h"

namespace muster::trainer {

// The largest magnitude of a matrix counts as at least this, so that the factors stay finite.
inline constexpr float kLeastFp8Magnitude = 1e-30f;

// Returns the largest number of an FP8 type.
float LargestOfFp8(c10::ScalarType type);

// Converts a matrix of FP32 or BF16, of any strides, to kFloat8_e4m3fn or kFloat8_e5m2: rounded to
// nearest, ties to even, and never beyond the largest number. A number that is not finite makes
// products with the matrix NaN. The columns are written if they are wanted. Nothing waits for the
// device; equal inputs give equal bits on every kind of device. Errors are exceptions of LibTorch.
// Thread-safe.
Fp8Matrix ToFp8(const at::Tensor& matrix, c10::ScalarType type, bool columns);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_KERNELS_FP8_MATRIX_H_
