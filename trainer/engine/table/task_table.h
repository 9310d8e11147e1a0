#ifndef MUSTER_TRAINER_ENGINE_TABLE_TASK_TABLE_H_
#define MUSTER_TRAINER_ENGINE_TABLE_TASK_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/parallel/stages.h"

namespace muster::trainer {

// clang-format off
// The tasks of one rank in one step, in order, as data: every form of parallelism is another table,
// and the engine runs nothing else. Pure.
//
//   Forward, Backward      block and micro_batch; Backward also adds the parameters' gradients
//   BackwardInput/Weight   the two halves of Backward, for blocks that can split it; the second one
//                          needs no values of the block's units
//   Gather, Reduce         unit; start a collective among the ranks that share the unit. The blocks
//                          that use the unit wait for its Gather, the Vote for every Reduce
//   Release                unit; frees the values that a Gather brought
//   Send, Recv             micro_batch, peer, and block's outputs (if `gradient`, their gradient).
//                          A Send is buffered. The peer is the place of the other rank's table in
//                          LayoutTables.distinct
//   Vote                   the collective among all ranks that decides the step
//   Prepare, Apply         the optimizer's two halves; unit, or all units when it is -1
//   Confirm                the collective by which all ranks agree on what they prepared
// clang-format on
enum class TaskKind {
  kForward,
  kBackward,
  kBackwardInput,
  kBackwardWeight,
  kGather,
  kRelease,
  kReduce,
  kSend,
  kRecv,
  kVote,
  kPrepare,
  kConfirm,
  kApply,
};

struct Task {
  TaskKind kind = TaskKind::kForward;
  int block = -1;
  int micro_batch = -1;  // counts from 0 within this rank
  int unit = -1;
  int peer = -1;
  bool gradient = false;

  bool operator==(const Task&) const = default;
};

using TaskTable = std::vector<Task>;

// Formats a task for messages, e.g. "Backward(block 3, micro-batch 0)".
std::string ToString(const Task& task);
std::string_view Name(TaskKind kind);

// The properties of model and optimizer that a table depends on.
struct TableShape {
  int blocks = 0;
  StageCut cut = {};  // of the blocks
  // The blocks that use each unit, ascending.
  std::vector<std::vector<int>> unit_users;
  // Blocks whose Backward may be split.
  std::vector<bool> can_split;
  bool optimizer_prepares = false;
  // The ranks divide the state: after Apply each has new values of its slices only.
  bool divided = false;
  // A rank has whole gradients of a unit during a backward pass only, and whole values only between
  // a Gather and a Release. Values that rest elsewhere count as divided, even by one.
  bool gradients_divided = false;
  // The gradients of one micro-batch are whole before those of the next begin: they are added up in
  // a fixed order.
  bool one_at_a_time = false;
  bool values_divided = false;
};

// A rank's place in a pipeline.
struct PipelinePlace {
  int stage = 0;
  int first_peer = 0;  // the place of the table of stage 0 among all tables
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
};

// Returns the table of one rank. Without a pipeline micro-batches run one after the other; in one,
// in the schedule's order, and outputs and gradients go to the next and the previous stage. The
// Reduce of a unit stands right after the last backward of its last user, so that it overlaps with
// the backward of the blocks before it. If the state is divided, the values are gathered at the
// end.
//
// If gradients are divided, units are reduced after the backward of each micro-batch. If values are
// divided, those of a block are gathered while the block before it runs, and released after the
// last of the passes in a row that use them. Ranks then take part in the collectives of as many
// rounds as the rank with the `most` micro-batches has.
TaskTable StepTable(const TableShape& shape, int micro_batches, int most,
                    const PipelinePlace& place = {});

// Returns the table of one micro-batch's forward pass, for workers that evaluate one each.
TaskTable EvaluationTable(const TableShape& shape, const PipelinePlace& place = {});

// Returns the number of micro-batches of the rank that has the most.
int MostMicroBatches(const MeshShape& mesh, int64_t micro_batches);

// The task tables of all ranks of a layout. Pipelines with as many micro-batches have the same
// ones, and a check of the distinct ones is one of all, because no pipeline sends to another.
struct LayoutTables {
  // Pipeline after pipeline, and in each by stage.
  std::vector<TaskTable> distinct;
  std::vector<int> of_rank;  // indices of `distinct`
};

// Returns the tables for steps of so many logical micro-batches, unchecked. Returns Unimplemented,
// which names the axis, for a layout that has no table yet, and InvalidArgument if a rank would
// have no micro-batch. Pure.
absl::StatusOr<LayoutTables> MakeTables(
    const TableShape& shape, const MeshShape& mesh, int64_t micro_batches,
    PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TABLE_TASK_TABLE_H_
