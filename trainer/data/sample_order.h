#ifndef MUSTER_TRAINER_DATA_SAMPLE_ORDER_H_
#define MUSTER_TRAINER_DATA_SAMPLE_ORDER_H_

#include <cstdint>

namespace muster::trainer {

// A bijection of [0, size) chosen by `key`: a Feistel network over the next power of four, walked
// until it lands inside. It needs no memory, has no state, and is the same on every machine.
// `size` must be positive.
class Permutation {
 public:
  Permutation(uint64_t size, uint64_t key);
  uint64_t operator()(uint64_t index) const;

 private:
  uint64_t Encrypt(uint64_t value) const;

  const uint64_t size_;
  const uint64_t key_;
  int half_bits_;
};

// Identifies a micro-batch of a run by the samples consumed before its step, and not by the step:
// the global batch may change between steps.
struct MicroBatchPosition {
  int64_t consumed = 0;       // samples of the run before this step
  int64_t micro_batch = 0;    // within the step, from 0
  int64_t micro_batches = 1;  // of the step, over all ranks
};

// Maps a global position to a sequence: a function of (seed, epoch, position) only. An epoch is one
// pass over all `sequences`, in an order of its own. Positions count from 0 over the whole run:
// position p belongs to epoch p / sequences.
class SampleOrder {
 public:
  SampleOrder(uint64_t sequences, uint64_t seed) : sequences_(sequences), seed_(seed) {}
  uint64_t sequences() const { return sequences_; }
  uint64_t SequenceAt(uint64_t position) const;

 private:
  const uint64_t sequences_;
  const uint64_t seed_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_SAMPLE_ORDER_H_
