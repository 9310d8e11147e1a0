#ifndef MUSTER_TRAINER_CUDA_KERNELS_PACK_HEADS_H_
#define MUSTER_TRAINER_CUDA_KERNELS_PACK_HEADS_H_

#include <array>
#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// Heads of queries, keys or values: [batch, positions, heads, width] with strides in elements.
// Elements of a head lie beside each other.
struct Heads {
  const void* data = nullptr;
  int64_t batch_stride = 0;
  int64_t position_stride = 0;
  int64_t head_stride = 0;
};

// Copies queries, keys and values into one array, in which they lie beside each other for each
// position, [batch, positions, 3, heads, width], or for each head, [batch, positions, heads, 3,
// width].
struct PackHeads {
  int64_t batch = 0;
  int64_t positions = 0;
  int64_t heads = 0;
  int64_t width = 0;
  bool by_head = false;
  Element element = Element::kFloat;
  std::array<Heads, 3> parts;
  void* packed = nullptr;
};
LaunchResult LaunchPackHeads(const PackHeads& pack, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_PACK_HEADS_H_
