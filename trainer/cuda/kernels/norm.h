#ifndef MUSTER_TRAINER_CUDA_KERNELS_NORM_H_
#define MUSTER_TRAINER_CUDA_KERNELS_NORM_H_

#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// RMSNorm (Zhang and Sennrich, 2019) and LayerNorm (Ba et al., 2016) over the rows of matrices
// [rows, width] that lie row after row, with the addition before them in the same pass: that of a
// branch of the model to its residual stream x. `stream` is the type of x, sum and their gradients,
// `result` that of y, of the branch and of their gradients.

struct NormForward {
  int64_t rows = 0;
  int64_t width = 0;
  float epsilon = 0;
  bool centered = false;  // LayerNorm: the mean is taken off
  Element stream = Element::kFloat;
  Element result = Element::kFloat;
  const void* x = nullptr;
  const void* branch = nullptr;  // null: nothing is added
  const float* gain = nullptr;
  const float* bias = nullptr;  // null: none
  void* sum = nullptr;          // gets x + branch, rounded, which is what is normalized
  void* y = nullptr;
  float* mean = nullptr;   // [rows], of LayerNorm
  float* scale = nullptr;  // [rows]: 1 / sqrt(mean square + epsilon)
};
LaunchResult LaunchNormForward(const NormForward& norm, Stream stream);

struct NormBackward {
  int64_t rows = 0;
  int64_t width = 0;
  bool centered = false;
  Element stream = Element::kFloat;
  Element result = Element::kFloat;
  const void* x = nullptr;  // what was normalized: `sum` if there was a branch
  const void* d_y = nullptr;
  const void* d_sum = nullptr;  // the gradient that reaches `sum` on other ways; null: none
  const float* gain = nullptr;
  const float* mean = nullptr;
  const float* scale = nullptr;
  void* d_x = nullptr;
  void* d_branch = nullptr;    // gets d_x in the branch's type; null: there was no branch
  float* d_gain = nullptr;     // [width]
  float* d_bias = nullptr;     // [width]; null: there is no bias
  float* workspace = nullptr;  // NormBackwardWorkspace(width) elements
};
int64_t NormBackwardWorkspace(int64_t width);
LaunchResult LaunchNormBackward(const NormBackward& norm, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_NORM_H_
