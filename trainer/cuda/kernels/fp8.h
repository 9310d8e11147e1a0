#ifndef MUSTER_TRAINER_CUDA_KERNELS_FP8_H_
#define MUSTER_TRAINER_CUDA_KERNELS_FP8_H_

#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

enum class Fp8Type { kE4m3, kE5m2 };

// The conversion of a matrix [rows, width] to FP8, with the scale by which its largest magnitude
// becomes the largest number of the type (trainer/kernels/fp8_matrix.h). Rows and width are
// multiples of kFp8Run; the matrix is aligned to kFp8Run elements.
struct Fp8Conversion {
  int64_t rows = 0;
  int64_t width = 0;
  Element element = Element::kFloat;
  const void* matrix = nullptr;
  Fp8Type type = Fp8Type::kE4m3;
  float largest_number = 0;       // of the type
  float least_magnitude = 0;      // a matrix whose largest magnitude is less counts as having this
  uint8_t* by_row = nullptr;      // [rows, width]
  uint8_t* by_column = nullptr;   // [width, rows]; null: not wanted
  float* unscale = nullptr;       // the reciprocal of the scale
  uint32_t* workspace = nullptr;  // kFp8Workspace elements
};
inline constexpr int64_t kFp8Run = 4;
inline constexpr int64_t kFp8Workspace = 1056;
LaunchResult LaunchFp8Conversion(const Fp8Conversion& conversion, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_FP8_H_
