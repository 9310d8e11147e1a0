#ifndef MUSTER_TRAINER_KERNELS_LAYER_KERNELS_H_
#define MUSTER_TRAINER_KERNELS_LAYER_KERNELS_H_

#include "ATen/core/Tensor.h"
#include "c10/core/ScalarType.h"

namespace muster::trainer {

// A normalization, with the numbers that its gradient needs.
struct NormOutput {
  at::Tensor sum;    // x + branch, which is what was normalized; undefined without a branch
  at::Tensor y;      // as x, in the type that was asked for
  at::Tensor mean;   // FP32 [rows]; undefined in RMSNorm
  at::Tensor scale;  // FP32 [rows]: 1 / sqrt(mean square + epsilon)
};

struct NormGradients {
  at::Tensor x;
  at::Tensor branch;      // equal to x, in the type of y; undefined without a branch
  at::Tensor gain, bias;  // FP32 [width]; no bias in RMSNorm
};

struct SwiGluGradients {
  at::Tensor gate, up;
};

// A matrix in FP8 (Micikevicius et al., 2022): E4M3, whose largest number is 448, or E5M2 with more
// range and less precision. A number of the matrix is one of FP8 times `unscale`, by which the
// largest magnitude of the matrix becomes FP8's largest.
struct Fp8Matrix {
  at::Tensor rows;     // [rows, columns], row after row
  at::Tensor columns;  // the same numbers, [columns, rows], column after column; may be undefined
  at::Tensor unscale;  // FP32, a scalar on the same device
};

// Parts of layers that a kind of device computes in one pass over memory, and their gradients.
// Elements are of FP32 or BF16, and are computed with in FP32; gains and biases are FP32. Inputs
// may have any strides; outputs are contiguous. Nothing waits for the device, and equal inputs give
// equal bits. Errors are exceptions of LibTorch. Thread-safe.
class LayerKernels {
 public:
  virtual ~LayerKernels() = default;

  // LayerNorm (Ba et al., 2016) over the last dimension of x + branch, or, without a bias, RMSNorm
  // (Zhang and Sennrich, 2019). `result` is the type of y and of the branch, which has as many
  // elements as x. An undefined branch adds nothing.
  virtual NormOutput Norm(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& gain,
                          const at::Tensor& bias, double epsilon, c10::ScalarType result) const = 0;
  // Returns the gradients of Norm(). `sum_gradient` is the gradient that reaches x + branch through
  // the residual, past the normalization, and may be undefined. `sum` is x + branch, or x without a
  // branch. `forward` is the result of Norm(); its y is not read.
  virtual NormGradients NormBackward(const at::Tensor& gradient, const at::Tensor& sum_gradient,
                                     const at::Tensor& sum, const at::Tensor& gain,
                                     const NormOutput& forward) const = 0;

  // Returns queries, keys and values, each [batch, heads, positions, width], beside each other:
  // [batch, positions, 3, heads, width], or [batch, positions, heads, 3, width] if `by_head`.
  virtual at::Tensor PackHeads(const at::Tensor& queries, const at::Tensor& keys,
                               const at::Tensor& values, bool by_head) const = 0;

  // Returns the sums of the columns of `matrix` [rows, width], FP32 [width]: a bias's gradient.
  virtual at::Tensor ColumnSums(const at::Tensor& matrix) const = 0;

  // As ToFp8 of fp8_matrix.h, with the same bits. Both dimensions are multiples of kFp8Run.
  static constexpr int64_t kFp8Run = 4;
  virtual Fp8Matrix ToFp8(const at::Tensor& matrix, c10::ScalarType type, bool columns) const = 0;

  // GELU in its tanh form (Hendrycks and Gimpel, 2016).
  virtual at::Tensor Gelu(const at::Tensor& x) const = 0;
  virtual at::Tensor GeluBackward(const at::Tensor& gradient, const at::Tensor& x) const = 0;

  // SwiGLU (Shazeer, 2020): gate * sigmoid(gate) * up.
  virtual at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up) const = 0;
  virtual SwiGluGradients SwiGluBackward(const at::Tensor& gradient, const at::Tensor& gate,
                                         const at::Tensor& up) const = 0;

  // Applies the rotary embedding (Su et al., 2021; pairs as in trainer/model/layers/rope.h) to x
  // [batch, heads, positions, width], or its inverse if `back`. `cosine` and `sine` are of the
  // angles of the positions, FP32 [positions, width / 2]. The result has the dimensions of x, and
  // its heads lie in memory where those of x lie.
  virtual at::Tensor Turn(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                          bool back) const = 0;

  // Returns the cross-entropy of each row of logits [rows, classes], FP32 [rows], and overwrites
  // the logits, which must be contiguous, with their gradient. Both are 0 in a row whose label
  // (int64 [rows]) is `ignored`. A label that is no class has the loss NaN.
  virtual at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& labels,
                                  int64_t ignored) const = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_KERNELS_LAYER_KERNELS_H_
