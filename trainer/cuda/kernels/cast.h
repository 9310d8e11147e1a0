#ifndef MUSTER_TRAINER_CUDA_KERNELS_CAST_H_
#define MUSTER_TRAINER_CUDA_KERNELS_CAST_H_

#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// Writes `scale` times each of `count` elements of `from` to `to`, rounded to nearest, ties to
// even. The arrays may be the same one if the types are.
LaunchResult LaunchCast(Element from_element, const void* from, int64_t count, float scale,
                        Element to_element, void* to, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_CAST_H_
