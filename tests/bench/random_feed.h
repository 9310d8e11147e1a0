#ifndef MUSTER_TESTS_BENCH_RANDOM_FEED_H_
#define MUSTER_TESTS_BENCH_RANDOM_FEED_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "ATen/ops/randint.h"
#include "trainer/data/batch_feed.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// A feed of micro-batches with random tokens, which repeat after a few: they are made beforehand,
// so that the time of a step has nothing of it. Not thread-safe.
class RandomFeed final : public BatchFeed {
 public:
  RandomFeed(const TrainingOptions& options, int64_t vocabulary) {
    for (MicroBatch& batch : batches_) batch = Make(options, vocabulary);
  }
  absl::StatusOr<MicroBatch> Training(const MicroBatchPosition&) override {
    return batches_[next_++ % batches_.size()];
  }
  absl::StatusOr<MicroBatch> Validation(int64_t index) override {
    return batches_[static_cast<size_t>(index) % batches_.size()];
  }

 private:
  static MicroBatch Make(const TrainingOptions& options, int64_t vocabulary) {
    MicroBatch batch;
    const at::Tensor tokens =
        at::randint(vocabulary, {options.micro_batch, options.sequence + 1}, at::kLong);
    batch.tokens = tokens.narrow(1, 0, options.sequence).contiguous();
    batch.labels = tokens.narrow(1, 1, options.sequence).contiguous();
    for (int64_t i = 0; i < options.micro_batch; ++i) batch.samples.push_back(i);
    return batch;
  }

  std::array<MicroBatch, 8> batches_;
  size_t next_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_BENCH_RANDOM_FEED_H_
