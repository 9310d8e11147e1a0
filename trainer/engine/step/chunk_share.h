#ifndef MUSTER_TRAINER_ENGINE_STEP_CHUNK_SHARE_H_
#define MUSTER_TRAINER_ENGINE_STEP_CHUNK_SHARE_H_

#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/parallel/unit.h"

namespace muster::trainer {

// The sums of squares of some chunks of the gradients, which are numbered over all units.
struct SummedChunks {
  std::vector<int64_t> chunks;
  at::Tensor squares;  // FP64 on the host
};

// Sums the chunks of this rank's slices that are its own to sum: the ranks that hold the same
// slices share them.
SummedChunks SumOwnChunks(const std::vector<Unit>& units, const RoundGroups& groups);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_CHUNK_SHARE_H_
