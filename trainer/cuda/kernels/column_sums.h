#ifndef MUSTER_TRAINER_CUDA_KERNELS_COLUMN_SUMS_H_
#define MUSTER_TRAINER_CUDA_KERNELS_COLUMN_SUMS_H_

#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// The sum of each column of a matrix [rows, width], which is the gradient of a bias. The order of
// additions depends on the shape alone.
struct ColumnSums {
  int64_t rows = 0;
  int64_t width = 0;
  Element element = Element::kFloat;
  const void* matrix = nullptr;
  float* sums = nullptr;       // [width]
  float* workspace = nullptr;  // ColumnSumsWorkspace(rows, width) elements
};
int64_t ColumnSumsWorkspace(int64_t rows, int64_t width);
LaunchResult LaunchColumnSums(const ColumnSums& columns, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_COLUMN_SUMS_H_
