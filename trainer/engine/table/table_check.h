#ifndef MUSTER_TRAINER_ENGINE_TABLE_TABLE_CHECK_H_
#define MUSTER_TRAINER_ENGINE_TABLE_TABLE_CHECK_H_

#include <vector>

#include "absl/status/statusor.h"
#include "trainer/engine/table/task_table.h"

namespace muster::trainer {

// Proves a set of task tables, one per rank, right before it runs. With several stages, the tables
// are those of whole pipelines, each by stage. Pure.

struct TableReport {
  // The share of all ranks' time in which they idle, if a Forward takes 1, a Backward 2, each half
  // of a Backward 1, and communication nothing.
  double bubble = 0.0;
  // The most micro-batches whose forward any one block keeps for its backward at once.
  int most_alive = 0;
};

// clang-format off
// Returns InvalidArgument, naming the rank and the task, unless all of these hold:
// - every task names a block, unit and peer that exist, and split backwards only blocks that can;
// - each block a rank runs has one forward and one whole backward per micro-batch, in this order,
//   with its inputs (and output gradients) computed or received before;
// - each unit a rank uses is reduced once, after the last backward of all its users; if gradients are
//   divided, as often as is needed, but only between micro-batches' backwards of its users;
// - Vote follows all reduces; if the optimizer prepares, Prepare follows the Vote and Confirm follows
//   Prepare; Apply follows the last Vote or Confirm, every unit is applied once, and between that
//   and the last Apply nothing communicates;
// - if the state is divided, every unit is gathered once after it is applied, and only then; but if
//   values are divided, before the blocks that use it, and released before it is gathered again and
//   before it is applied;
// - run together the tables end: every Recv finds its Send in order, ranks that share a unit reduce
//   and gather in the same order, and all ranks vote and confirm equally often.
// clang-format on
absl::StatusOr<TableReport> CheckTables(const TableShape& shape,
                                        const std::vector<TaskTable>& ranks);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TABLE_TABLE_CHECK_H_
