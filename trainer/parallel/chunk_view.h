#ifndef MUSTER_TRAINER_PARALLEL_CHUNK_VIEW_H_
#define MUSTER_TRAINER_PARALLEL_CHUNK_VIEW_H_

#include "ATen/core/Tensor.h"
#include "trainer/parallel/sum_tree.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {

// Returns the view of a run of chunks of `flat`, which consists of whole chunks.
inline at::Tensor ChunksOf(const at::Tensor& flat, const TreeNode& run) {
  return flat.narrow(0, run.begin * kChunkElements, run.leaves() * kChunkElements);
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_CHUNK_VIEW_H_
