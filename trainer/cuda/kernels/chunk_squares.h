#ifndef MUSTER_TRAINER_CUDA_KERNELS_CHUNK_SQUARES_H_
#define MUSTER_TRAINER_CUDA_KERNELS_CHUNK_SQUARES_H_

#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// Computes the sum of squares of each of `chunks` chunks of `elements` values, a multiple of 16, in
// double: the same bits as trainer/kernels/chunk_squares.h on a CPU, added in the same order.
LaunchResult LaunchChunkSquares(const float* values, int64_t chunks, int64_t elements, double* sums,
                                Stream stream);
LaunchResult LaunchChunkSquares(const double* values, int64_t chunks, int64_t elements,
                                double* sums, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_CHUNK_SQUARES_H_
