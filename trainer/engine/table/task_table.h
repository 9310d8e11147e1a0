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
//   Send, Recv             block, micro_batch and peer; moves the outputs of `block`, or, if
//                          `gradient`, the gradients of these outputs. A Send does not wait for its
//                          Recv. `peer` is the index of the other rank's table in
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
  // The optimizer needs a Prepare and a Confirm before Apply.
  bool optimizer_prepares = false;
  // The ranks divide the state: after Apply a rank has new values of its own slices only.
  bool divided = false;
  // A rank has the whole gradient of a unit only from a backward pass to the Reduce after it.
  bool gradients_divided = false;
  // A rank has the whole values of a unit only between a Gather and a Release. This is also true of
  // one rank whose values are kept in files.
  bool values_divided = false;
  // All gradients of one micro-batch are complete before those of the next begin, because they are
  // added in a fixed order (deterministic mode).
  bool one_at_a_time = false;
};

// A rank's place in a pipeline.
struct PipelinePlace {
  int stage = 0;
  int first_peer = 0;  // the place of the table of stage 0 among all tables
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
};

// Returns true if the schedule puts off the gradients of weights. Divided gradients are not put
// off: they would be whole for all blocks of a stage until the weights' turn.
bool SplitsBackward(const TableShape& shape, PipelineSchedule schedule);

// Returns the table of one rank that has `micro_batches` micro-batches. Without a pipeline they run
// one after the other. In a pipeline they run in the order of place.schedule; the rank sends
// outputs to the next stage, and gradients to the previous one.
//
// The Reduce of a unit comes right after the pass that completes its gradient. In a backward pass
// that is the pass of the unit's first user. So the collective overlaps with the backward passes of
// the blocks before. If the state is divided but values are not, every unit is gathered at the end.
//
// If gradients are divided, each unit is reduced once for every micro-batch. If values are divided,
// a unit is gathered one pass before it is needed, and released when the next pass does not need
// it. In both cases every rank takes part in the collectives of `most` micro-batches, which is the
// largest number that any rank has.
TaskTable StepTable(const TableShape& shape, int micro_batches, int most,
                    const PipelinePlace& place = {});

// Returns the table of one micro-batch's forward pass, for workers that evaluate one each.
TaskTable EvaluationTable(const TableShape& shape, const PipelinePlace& place = {});

// Returns the number of micro-batches of the rank that has the most.
int MostMicroBatches(const MeshShape& mesh, int64_t micro_batches);

// The task tables of all ranks of a layout. Two pipelines with equal numbers of micro-batches have
// equal tables, which are stored once. No pipeline sends to another, so a check of the distinct
// tables (CheckTables) checks every rank.
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
