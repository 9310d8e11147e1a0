#include "trainer/engine/store/counts_record.h"

#include "trainer/commit/loss_scale.h"
#include "trainer/commit/spike_watch.h"
#include "trainer/commit/tunings.h"

namespace muster::trainer {

void WriteCounts(const TrainingState& state, RunRecord& record) {
  const RunCounts& counts = state.counts();
  record.updates = counts.updates;
  record.data_position = counts.samples;
  record.skipped_in_row = counts.skipped.in_row;
  record.skipped_total = counts.skipped.total;
  const WatchedSteps& watched = counts.watched;
  record.watch = {.losses = watched.losses,
                  .norms = watched.norms,
                  .in_row = watched.in_row,
                  .total = watched.total,
                  .rate_factor = watched.rate_factor};
  record.tuning.clear();
  for (const Tuning& tuning : counts.tunings) {
    record.tuning.push_back({.step = tuning.step,
                             .learning_rate = tuning.learning_rate,
                             .clip_norm = tuning.clip_norm});
  }
  if (!state.options().types.scales_loss()) return;
  record.loss_scale = counts.loss_scale.scale;
  record.good_steps = counts.loss_scale.good_steps;
}

RunCounts ReadCounts(const RunRecord& record, const TrainingOptions& options) {
  RunCounts counts{.updates = record.updates,
                   .samples = record.data_position,
                   .skipped = {.in_row = record.skipped_in_row, .total = record.skipped_total},
                   .loss_scale = FirstLossScale(options.types.scales_loss()),
                   .watched = {.losses = record.watch.losses,
                               .norms = record.watch.norms,
                               .in_row = record.watch.in_row,
                               .total = record.watch.total,
                               .rate_factor = record.watch.rate_factor}};
  for (const TuningRecord& tuning : record.tuning) {
    counts.tunings.push_back({.step = tuning.step,
                              .learning_rate = tuning.learning_rate,
                              .clip_norm = tuning.clip_norm});
  }
  if (options.types.scales_loss() && record.loss_scale > 0) {
    counts.loss_scale = {.scale = record.loss_scale, .good_steps = record.good_steps};
  }
  return counts;
}

}  // namespace muster::trainer
