#ifndef MUSTER_TRAINER_ENGINE_GRADIENT_REDUCER_H_
#define MUSTER_TRAINER_ENGINE_GRADIENT_REDUCER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "trainer/comm/communicator.h"
#include "trainer/parallel/unit.h"

namespace muster::trainer {

// Sums the units' gradients over all micro-batches of all ranks. One instance serves one round: it
// knows rank, world size and the communicator. A step is Begin, for every micro-batch and unit
// MicroBatchDone, for every unit Reduce, then Finish; after a Finish that returns OK the units'
// gradients are the sums, equal on all ranks. Not thread-safe.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;

  virtual void Begin() = 0;
  // The unit's gradient of this rank's micro-batch (counted from 0) is final.
  virtual void MicroBatchDone(int unit, int micro_batch) = 0;
  // Starts the collective; returns at once.
  virtual void Reduce(int unit) = 0;
  virtual absl::Status Finish() = 0;
};

// Micro-batches add up in place, ranks by one all-reduce per unit: the order of additions depends
// on the world size.
std::unique_ptr<GradientReducer> MakeFastReducer(std::vector<Unit>& units,
                                                 Communicator& communicator);

// All additions follow the fixed tree over the `micro_batches` logical micro-batches of the step,
// whatever the world size: bitwise equal sums. A rank keeps log2 of its micro-batches gradients and
// sends its maximal subtree nodes; the owner of a slice adds them in tree order.
std::unique_ptr<GradientReducer> MakeDeterministicReducer(std::vector<Unit>& units,
                                                          Communicator& communicator,
                                                          int64_t micro_batches);

// Bytes the deterministic exchange sends beyond one gradient per rank, over all ranks.
int64_t DeterministicExtraBytes(int64_t gradient_bytes, int64_t micro_batches, int world);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_GRADIENT_REDUCER_H_
