#ifndef MUSTER_TRAINER_ENGINE_TABLE_TABLE_RUN_H_
#define MUSTER_TRAINER_ENGINE_TABLE_TABLE_RUN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "trainer/engine/table/task_table.h"

namespace muster::trainer {

// Returns true for the collectives of all ranks that the update waits for.
inline bool IsVote(TaskKind kind) { return kind == TaskKind::kVote || kind == TaskKind::kConfirm; }

// Runs the tables of all ranks together, with messages, votes, and a clock for each rank. Returns
// the share of all ranks' time in which they idle; InvalidArgument if they would wait forever, or
// if a message finds no receiver or another than it is for. Pure.
absl::StatusOr<double> RunTables(const std::vector<TaskTable>& ranks);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TABLE_TABLE_RUN_H_
