#ifndef MUSTER_TRAINER_ENGINE_STEP_GRADIENT_REDUCER_H_
#define MUSTER_TRAINER_ENGINE_STEP_GRADIENT_REDUCER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/link/sent_numbers.h"
#include "trainer/parallel/unit.h"

namespace muster::trainer {

// Sums the units' gradients over all micro-batches of all ranks. One instance serves one round,
// with its rank, world size and communicators. A step calls Begin, for every micro-batch and unit
// MicroBatchBegins and MicroBatchDone, Reduce for every unit, then Finish. Once Finish has returned
// OK, this rank's slice of each unit's gradients is the sum, equal on all ranks that hold that
// slice. Not thread-safe.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;

  virtual void Begin(int64_t step) = 0;
  // Called before a micro-batch's first backward pass that adds to the unit's gradient.
  virtual absl::Status MicroBatchBegins(int unit) = 0;
  // Called when the unit's gradient of this rank's micro-batch (counted from 0) is final.
  virtual void MicroBatchDone(int unit, int micro_batch) = 0;
  // Starts the collective; may wait for one that was started long before.
  virtual absl::Status Reduce(int unit) = 0;
  virtual absl::Status Finish() = 0;
};

// How ranks round the gradients that they send each other.
struct SentGradients {
  SentNumbers numbers = SentNumbers::kWhole;
  // The key of the rounding's random part: the run's seed, and this rank's number in the round.
  uint64_t seed = 0;
  int64_t rank = 0;
};

// Adds micro-batches in place, and ranks by one all-reduce per unit, so the order of additions
// depends on the world size. If gradients are rounded, at most two units are exchanged at once, so
// that the buffers stay small.
std::unique_ptr<GradientReducer> MakeFastReducer(std::vector<Unit>& units,
                                                 const RoundGroups& groups,
                                                 const SentGradients& sent);

// Adds ranks in two stages, for ranks that divide the state: each rank gets its slice from all
// ranks of groups.shard, and adds it up with the ranks that hold the same slice in other groups. So
// only 1/|shard| of a gradient crosses between groups. A unit that divides its gradients has memory
// for the whole of them only from MicroBatchBegins until the exchange that Reduce starts has ended.
// A step calls Reduce `rounds` times for each such unit, and once for each other unit.
std::unique_ptr<GradientReducer> MakeShardedReducer(std::vector<Unit>& units,
                                                    const RoundGroups& groups,
                                                    const SentGradients& sent, int rounds);

// Adds along a fixed tree over the `micro_batches` logical micro-batches of the step, so the sums
// are bitwise equal whatever the number of workers. A rank with m micro-batches keeps about log2(m)
// gradients at once and sends its maximal subtree nodes; the owner of a slice adds them in tree
// order. Every rank gets all sums, or only those of its slice if all workers divide one copy of the
// state.
std::unique_ptr<GradientReducer> MakeDeterministicReducer(std::vector<Unit>& units,
                                                          const RoundGroups& groups,
                                                          int64_t micro_batches);

// Returns the bytes that the deterministic exchange sends beyond one gradient per rank, over all
// ranks.
int64_t DeterministicExtraBytes(int64_t gradient_bytes, int64_t micro_batches, int world);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_GRADIENT_REDUCER_H_
