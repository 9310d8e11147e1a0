#include "trainer/engine/store/counts_record.h"

#include <memory>

#include "c10/core/ScalarType.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/commit/loss_scale.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/testing/synthetic_feed.h"

namespace muster::trainer {
namespace {

TrainingOptions OptionsIn(c10::ScalarType compute) {
  TrainingOptions options = TinyOptions();
  options.types.compute = compute;
  return options;
}

const TrainingOptions kFp16 = OptionsIn(at::kHalf), kBf16 = OptionsIn(at::kBFloat16);
const RunCounts kCounts = {
    .updates = 5,
    .samples = 70,
    .skipped = {.in_row = 1, .total = 2},
    .loss_scale = {.scale = 512, .good_steps = 9},
    .watched = {.losses = {0.1, 0.3},
                .norms = {2.0, 1.0 / 3.0},
                .in_row = 1,
                .total = 6,
                .rate_factor = 0.5},
    .tunings = {{.step = 3, .learning_rate = 1e-4}, {.step = 8, .clip_norm = 0.0}}};

RunRecord RecordOf(const TrainingOptions& options, const RunCounts& counts) {
  const std::unique_ptr<TrainingState> state = MakeTinyState(options, 0.0);
  state->set_counts(counts);
  RunRecord record;
  WriteCounts(*state, record);
  return record;
}

TEST(CountsRecordTest, ARunGoesOnWithTheCountsAndTheLossScaleOfTheRecord) {
  EXPECT_EQ(ReadCounts(RecordOf(kFp16, kCounts), kFp16), kCounts);
  RunCounts plain = kCounts;
  plain.loss_scale = {};
  EXPECT_EQ(ReadCounts(RecordOf(kBf16, plain), kBf16), plain);
}

TEST(CountsRecordTest, ARecordWithoutALossScaleBeginsWithTheFirst) {
  RunCounts plain = kCounts, want = kCounts;
  plain.loss_scale = {};
  want.loss_scale = {.scale = kFirstLossScale, .good_steps = 0};
  const RunRecord record = RecordOf(kBf16, plain);
  EXPECT_EQ(record.loss_scale, 0);
  EXPECT_EQ(ReadCounts(record, kFp16), want);
}

TEST(CountsRecordTest, ARunThatScalesNoLossIgnoresTheScaleOfTheRecord) {
  RunCounts want = kCounts;
  want.loss_scale = {};
  EXPECT_EQ(ReadCounts(RecordOf(kFp16, kCounts), kBf16), want);
}

}  // namespace
}  // namespace muster::trainer
