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
// MicroBatchBegins and MicroBatchDone, Reduce for every unit, then Finish; after a Finish that
// returns OK the slice that this rank holds of each unit's gradients is the sum, equal on all ranks
// that hold it. Not thread-safe.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;

  virtual void Begin(int64_t step) = 0;
  // Called before the first backward that adds to the unit's gradient of a micro-batch.
  virtual absl::Status MicroBatchBegins(int unit) = 0;
  // Called when the unit's gradient of this rank's micro-batch (counted from 0) is final.
  virtual void MicroBatchDone(int unit, int micro_batch) = 0;
  // Starts the collective; may wait for one that was started long before.
  virtual absl::Status Reduce(int unit) = 0;
  virtual absl::Status Finish() = 0;
};

// The numbers in which ranks send each other gradients.
struct SentGradients {
  SentNumbers numbers = SentNumbers::kWhole;
  // Of what is random in their rounding: the run's seed, and this rank's number in the round.
  uint64_t seed = 0;
  int64_t rank = 0;
};

// Adds micro-batches in place and ranks by one all-reduce per unit: the order of additions depends
// on the world size. Of rounded gradients at most two units are under way, so that their buffers
// stay small.
std::unique_ptr<GradientReducer> MakeFastReducer(std::vector<Unit>& units,
                                                 const RoundGroups& groups,
                                                 const SentGradients& sent);

// Adds ranks in two stages, for ranks that divide the state: each rank gets its slice from all
// ranks of groups.shard, and adds it up with the ranks that hold the same slice in other groups. So
// only 1/|shard| of a gradient crosses between groups. Units that divide their gradients have
// memory for them as a whole from MicroBatchBegins until the end of the exchange that Reduce
// starts, and a step calls Reduce `rounds` times for each; other units take part once.
std::unique_ptr<GradientReducer> MakeShardedReducer(std::vector<Unit>& units,
                                                    const RoundGroups& groups,
                                                    const SentGradients& sent, int rounds);

// Adds along the fixed tree over the `micro_batches` logical micro-batches of the step, whatever
// the number of workers: the sums are bitwise equal. A rank of m micro-batches keeps about log2(m)
// gradients at once and sends its maximal subtree nodes; the owner of a slice adds them in tree
// order. Every rank gets all sums, or, if the workers all divide one copy of the state, only those
// of its slice.
std::unique_ptr<GradientReducer> MakeDeterministicReducer(std::vector<Unit>& units,
                                                          const RoundGroups& groups,
                                                          int64_t micro_batches);

// Returns the bytes that the deterministic exchange sends beyond one gradient per rank, over all
// ranks.
int64_t DeterministicExtraBytes(int64_t gradient_bytes, int64_t micro_batches, int world);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_GRADIENT_REDUCER_H_
