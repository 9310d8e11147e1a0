#include "tests/parity/toy_run.h"

#include "ATen/ops/empty.h"
#include "trainer/model/block.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/lamb.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/schedule.h"
#include "trainer/optim/sgd.h"

namespace muster::trainer {

planner::ModelShape ToyShape(planner::ModelFamily family) {
  planner::ModelShape model{.family = family,
                            .layers = 3,
                            .heads = 4,
                            .width = 64,
                            .positions = 64,
                            .vocabulary = kToyVocabulary};
  // A number of heads that is no power of two has slopes of two kinds.
  if (family == planner::ModelFamily::kBloom) {
    model.heads = 6;
    model.width = 96;
  }
  // The sequence is so long that frequencies of all three kinds occur.
  if (family == planner::ModelFamily::kLlama) {
    model.key_value_heads = 2;
    model.feed_forward_width = 160;
    model.tied_head = false;
    model.rope_scaling = {
        .kind = planner::RopeScaling::Kind::kLlama3, .factor = 4, .original_positions = 32};
  }
  return model;
}

TrainingOptions ToyOptions(const ToyRun& run, int64_t micro_batches) {
  TrainingOptions options;
  const auto type = run.precision == "fp64" ? at::kDouble : at::kFloat;
  const bool fp8 = run.precision == "fp8";
  const auto products = run.precision == "fp16"          ? at::kHalf
                        : run.precision == "bf16" || fp8 ? at::kBFloat16
                                                         : type;
  options.types = {type, products, fp8};
  options.seed = 3;
  options.deterministic = run.deterministic;
  options.sequence = kToySequence;
  options.micro_batches = micro_batches;
  options.micro_batch = kToyBatch / micro_batches;
  options.optimizer.make = &MakeAdamW;
  // The norm after its embedding makes BLOOM learn slowly at first.
  const double peak = run.family == planner::ModelFamily::kBloom ? 3e-3 : 1e-3;
  options.schedule = {.rate = &CosineRate,
                      .peak = peak,
                      .warmup_steps = 5,
                      .steps = kToySteps,
                      .final_fraction = 0.1};
  if (run.optimizer == "sgd") {
    options.schedule.peak = 0.1;
    options.optimizer.make = &MakeSgd;
    options.optimizer.momentum = 0.9;
    options.optimizer.weight_decay = 0;
  }
  if (run.optimizer == "lamb") {
    options.schedule.peak = 0.02;
    options.optimizer.make = &MakeLamb;
  }
  if (run.optimizer == "muon") options.optimizer.make = &MakeMuon;
  return options;
}

absl::StatusOr<MicroBatch> GrammarFeed::Training(const MicroBatchPosition& place) {
  MicroBatch batch{.tokens = at::empty({rows_, sequence_}, at::kLong),
                   .labels = at::empty({rows_, sequence_}, at::kLong)};
  for (int64_t row = 0; row < rows_; ++row) {
    batch.samples.push_back(place.consumed + place.micro_batch * rows_ + row);
    uint64_t state = static_cast<uint64_t>(batch.samples.back()) * 0x9E3779B97F4A7C15u + 1;
    int64_t token = static_cast<int64_t>(state % symbols_);
    for (int64_t i = 0; i < sequence_; ++i) {
      batch.tokens.mutable_data_ptr<int64_t>()[row * sequence_ + i] = token;
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto choice = static_cast<int64_t>((state >> 60) % 3);
      token = (token * 7 + 11 + choice * choice) % symbols_;
      const bool valid = i < sequence_ - batch.samples.back() * 7 % 20;
      batch.labels.mutable_data_ptr<int64_t>()[row * sequence_ + i] = valid ? token : kIgnoredLabel;
    }
  }
  return batch;
}

absl::StatusOr<MicroBatch> GrammarFeed::Validation(int64_t index) {
  return Training({.consumed = index * kToyBatch});
}

}  // namespace muster::trainer
