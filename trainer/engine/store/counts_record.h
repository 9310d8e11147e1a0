#ifndef MUSTER_TRAINER_ENGINE_STORE_COUNTS_RECORD_H_
#define MUSTER_TRAINER_ENGINE_STORE_COUNTS_RECORD_H_

#include "trainer/checkpoint/manifest.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// Writes the state's counts into the record of a checkpoint or a copy.
void WriteCounts(const TrainingState& state, RunRecord& record);

// Returns the counts that a record holds, for a run of these options: one that scales its loss
// begins with the first scale if the record has none, and one that does not has no use for it.
RunCounts ReadCounts(const RunRecord& record, const TrainingOptions& options);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_COUNTS_RECORD_H_
