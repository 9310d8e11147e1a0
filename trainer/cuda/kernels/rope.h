#ifndef MUSTER_TRAINER_CUDA_KERNELS_ROPE_H_
#define MUSTER_TRAINER_CUDA_KERNELS_ROPE_H_

#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// Rotary position embeddings (Su et al., 2021) as LLaMA's checkpoints lay them out: element i of
// the first half of a row turns with element i of the second half.
struct Rope {
  int64_t rows = 0;
  int64_t width = 0;  // even
  // Row r turns by the angles of position (r / repeat) % positions: with rows [batch, heads,
  // sequence] repeat is 1, with rows [batch, sequence, heads] it is the number of heads.
  int64_t positions = 1;
  int64_t repeat = 1;
  Element element = Element::kFloat;
  const float* cosine = nullptr;  // [positions, width / 2]
  const float* sine = nullptr;
  const void* x = nullptr;
  void* y = nullptr;      // may be x
  bool backward = false;  // turns back, which is the gradient
};
LaunchResult LaunchRope(const Rope& rope, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_ROPE_H_
