#ifndef MUSTER_TRAINER_ENGINE_TESTING_SYNTHETIC_FEED_H_
#define MUSTER_TRAINER_ENGINE_TESTING_SYNTHETIC_FEED_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ATen/ops/empty.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "trainer/data/batch_feed.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/offload/state_file.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {

// Feeds a language that is easy to learn: each token is a fixed function of the one before, and the
// first token one of the sample's index. Labels from `ignore_from` on are ignored.
class SyntheticFeed final : public BatchFeed {
 public:
  SyntheticFeed(const TrainingOptions& options, int64_t vocabulary)
      : options_(options), vocabulary_(vocabulary) {}

  absl::StatusOr<MicroBatch> Training(const MicroBatchPosition& place) override {
    MutexLock lock(mu_);
    const int64_t step = place.consumed / (place.micro_batches * options_.micro_batch) + 1;
    while (step >= hold_at_) {
      held_ = true;
      changed_.NotifyAll();
      changed_.Wait(mu_);
    }
    if (step >= bad_from_) {
      return absl::InvalidArgumentError("the data hold token 500 at position 7");
    }
    MicroBatch batch = Make(place.consumed + place.micro_batch * options_.micro_batch);
    samples_.insert(samples_.end(), batch.samples.begin(), batch.samples.end());
    return batch;
  }
  absl::StatusOr<MicroBatch> Validation(int64_t index) override {
    return Make(1'000'000 + index * options_.micro_batch);
  }
  // Returns the samples that Training() handed out, in that order.
  std::vector<int64_t> samples() {
    MutexLock lock(mu_);
    return samples_;
  }
  void Forget() {
    MutexLock lock(mu_);
    samples_.clear();
  }
  // Training waits before this step until Release(), or until it is held at a later one. The global
  // batch must not change meanwhile.
  void HoldAt(int64_t step) {
    MutexLock lock(mu_);
    hold_at_ = step;
    held_ = false;
    changed_.NotifyAll();
  }
  // Makes training fail from this step on, as a token outside of the vocabulary does.
  void FailFrom(int64_t step) {
    MutexLock lock(mu_);
    bad_from_ = step;
  }
  void Release() { HoldAt(INT64_MAX); }
  void AwaitHeld() {
    MutexLock lock(mu_);
    while (!held_) changed_.Wait(mu_);
  }
  int64_t ignore_from = INT64_MAX;

 private:
  MicroBatch Make(int64_t first_sample) const {
    const int64_t rows = options_.micro_batch, length = options_.sequence;
    MicroBatch batch{.tokens = at::empty({rows, length}, at::kLong),
                     .labels = at::empty({rows, length}, at::kLong)};
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t sample = first_sample + r;
      batch.samples.push_back(sample);
      int64_t token = (sample * 7919 + 13) % vocabulary_;
      for (int64_t i = 0; i < length; ++i) {
        batch.tokens.mutable_data_ptr<int64_t>()[r * length + i] = token;
        token = (token * 5 + 3) % vocabulary_;
        const bool ignored = r * length + i >= ignore_from;
        batch.labels.mutable_data_ptr<int64_t>()[r * length + i] = ignored ? kIgnoredLabel : token;
      }
    }
    return batch;
  }

  const TrainingOptions options_;
  const int64_t vocabulary_;
  Mutex mu_;
  CondVar changed_;
  bool held_ MUSTER_GUARDED_BY(mu_) = false;
  int64_t hold_at_ MUSTER_GUARDED_BY(mu_) = INT64_MAX;
  int64_t bad_from_ MUSTER_GUARDED_BY(mu_) = INT64_MAX;
  std::vector<int64_t> samples_ MUSTER_GUARDED_BY(mu_);
};

inline planner::ModelShape TinyModel(double dropout) {
  return {
      .layers = 2, .heads = 2, .width = 32, .positions = 16, .vocabulary = 61, .dropout = dropout};
}

inline TrainingOptions TinyOptions() {
  TrainingOptions options;
  options.seed = 42;
  options.sequence = 16;
  options.micro_batch = 2;
  options.micro_batches = 5;
  options.optimizer.make = &MakeAdamW;
  options.schedule = {
      .rate = &CosineRate, .peak = 3e-3, .warmup_steps = 5, .steps = 100, .final_fraction = 0.1};
  return options;
}

inline std::unique_ptr<TrainingState> MakeState(const TrainingOptions& options,
                                                const planner::ModelShape& model,
                                                StateFiles* files = nullptr, int part = 0,
                                                int stage = 0) {
  auto state = TrainingState::Create(*MakeModel(model), options, {}, files, part, stage);
  EXPECT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE((*state)->InitializeFresh().ok());
  return *std::move(state);
}

inline std::unique_ptr<TrainingState> MakeTinyState(const TrainingOptions& options, double dropout,
                                                    StateFiles* files = nullptr, int part = 0,
                                                    int stage = 0) {
  return MakeState(options, TinyModel(dropout), files, part, stage);
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_SYNTHETIC_FEED_H_
