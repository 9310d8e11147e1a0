#ifndef MUSTER_TESTS_BENCH_RANDOM_FEED_H_
#define MUSTER_TESTS_BENCH_RANDOM_FEED_H_

#include <cstdint>

#include "ATen/ops/randint.h"
#include "trainer/data/batch_feed.h"
#include "trainer/engine/training_state.h"

namespace muster::trainer {

// A feed of micro-batches with fresh random tokens. Not thread-safe.
class RandomFeed final : public BatchFeed {
 public:
  RandomFeed(const TrainingOptions& options, int64_t vocabulary)
      : options_(options), vocabulary_(vocabulary) {}
  absl::StatusOr<MicroBatch> Training(const MicroBatchPosition&) override {
    MicroBatch batch;
    const at::Tensor tokens =
        at::randint(vocabulary_, {options_.micro_batch, options_.sequence + 1}, at::kLong);
    batch.tokens = tokens.narrow(1, 0, options_.sequence).contiguous();
    batch.labels = tokens.narrow(1, 1, options_.sequence).contiguous();
    for (int64_t i = 0; i < options_.micro_batch; ++i) batch.samples.push_back(i);
    return batch;
  }
  absl::StatusOr<MicroBatch> Validation(int64_t index) override {
    return Training({.micro_batch = index});
  }

 private:
  const TrainingOptions options_;
  const int64_t vocabulary_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_BENCH_RANDOM_FEED_H_
