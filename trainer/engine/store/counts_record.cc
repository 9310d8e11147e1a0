#include "trainer/engine/store/counts_record.h"

#include "trainer/commit/loss_scale.h"

namespace muster::trainer {

void WriteCounts(const TrainingState& state, RunRecord& record) {
  const RunCounts& counts = state.counts();
  record.updates = counts.updates;
  record.data_position = counts.samples;
  record.skipped_in_row = counts.skipped.in_row;
  record.skipped_total = counts.skipped.total;
  if (!state.options().types.scales_loss()) return;
  record.loss_scale = counts.loss_scale.scale;
  record.good_steps = counts.loss_scale.good_steps;
}

RunCounts ReadCounts(const RunRecord& record, const TrainingOptions& options) {
  RunCounts counts{.updates = record.updates,
                   .samples = record.data_position,
                   .skipped = {.in_row = record.skipped_in_row, .total = record.skipped_total},
                   .loss_scale = FirstLossScale(options.types.scales_loss())};
  if (options.types.scales_loss() && record.loss_scale > 0) {
    counts.loss_scale = {.scale = record.loss_scale, .good_steps = record.good_steps};
  }
  return counts;
}

}  // namespace muster::trainer
