#include "trainer/engine/table/task_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/parallel/sum_tree.h"

namespace muster::trainer {

std::string_view Name(TaskKind kind) {
  switch (kind) {
    case TaskKind::kForward:
      return "Forward";
    case TaskKind::kBackward:
      return "Backward";
    case TaskKind::kBackwardInput:
      return "BackwardInput";
    case TaskKind::kBackwardWeight:
      return "BackwardWeight";
    case TaskKind::kGather:
      return "Gather";
    case TaskKind::kRelease:
      return "Release";
    case TaskKind::kReduce:
      return "Reduce";
    case TaskKind::kSend:
      return "Send";
    case TaskKind::kRecv:
      return "Recv";
    case TaskKind::kVote:
      return "Vote";
    case TaskKind::kPrepare:
      return "Prepare";
    case TaskKind::kConfirm:
      return "Confirm";
    case TaskKind::kApply:
      return "Apply";
  }
  return "?";
}

std::string ToString(const Task& task) {
  std::string inside;
  const auto add = [&](const std::string& text) {
    if (!inside.empty()) inside += ", ";
    inside += text;
  };
  if (task.block >= 0) add(absl::StrCat("block ", task.block));
  if (task.unit >= 0) add(absl::StrCat("unit ", task.unit));
  if (task.micro_batch >= 0) add(absl::StrCat("micro-batch ", task.micro_batch));
  if (task.gradient) add("gradient");
  if (task.peer >= 0) add(absl::StrCat("peer ", task.peer));
  return absl::StrCat(std::string(Name(task.kind)), "(", inside, ")");
}

namespace {

// A pass through one block, and the messages right before it and after it.
struct Pass {
  Task task;
  std::optional<Task> before, after;
};

// The passes of one stage.
class StagePasses {
 public:
  StagePasses(const TableShape& shape, const PipelinePlace& place)
      : can_split_(shape.can_split),
        first_(shape.cut.first(place.stage)),
        end_(std::min(shape.blocks, shape.cut.first(place.stage + 1))),
        previous_(place.stage == 0 ? -1 : place.first_peer + place.stage - 1),
        next_(end_ == shape.blocks ? -1 : place.first_peer + place.stage + 1) {}

  void Forward(int micro_batch, std::vector<Pass>& out) const {
    for (int b = first_; b < end_; ++b) {
      Pass& pass = out.emplace_back();
      pass.task = {.kind = TaskKind::kForward, .block = b, .micro_batch = micro_batch};
      if (b == first_) pass.before = Message(TaskKind::kRecv, b - 1, micro_batch, previous_, false);
      if (b + 1 == end_) pass.after = Message(TaskKind::kSend, b, micro_batch, next_, false);
    }
  }
  // If `splits`, of the blocks that can split it only the half that other stages wait for.
  void Backward(int micro_batch, bool splits, std::vector<Pass>& out) const {
    for (int b = end_ - 1; b >= first_; --b) {
      Pass& pass = out.emplace_back();
      pass.task = {.kind = splits && CanSplit(b) ? TaskKind::kBackwardInput : TaskKind::kBackward,
                   .block = b,
                   .micro_batch = micro_batch};
      if (b + 1 == end_) pass.before = Message(TaskKind::kRecv, b, micro_batch, next_, true);
      if (b == first_) pass.after = Message(TaskKind::kSend, b - 1, micro_batch, previous_, true);
    }
  }

  void BackwardWeights(int micro_batch, std::vector<Pass>& out) const {
    for (int b = end_ - 1; b >= first_; --b) {
      if (!CanSplit(b)) continue;
      out.emplace_back().task = {
          .kind = TaskKind::kBackwardWeight, .block = b, .micro_batch = micro_batch};
    }
  }

 private:
  bool CanSplit(int block) const { return can_split_[static_cast<size_t>(block)]; }
  static std::optional<Task> Message(TaskKind kind, int block, int micro_batch, int peer,
                                     bool gradient) {
    if (peer < 0) return std::nullopt;
    return Task{.kind = kind,
                .block = block,
                .micro_batch = micro_batch,
                .peer = peer,
                .gradient = gradient};
  }

  const std::vector<bool>& can_split_;
  const int first_, end_;      // blocks
  const int previous_, next_;  // peers; -1: none
};

// Returns the passes of a stage, in the order of its schedule.
std::vector<Pass> PassesOf(const TableShape& shape, const PipelinePlace& place, int micro_batches) {
  const StagePasses stage(shape, place);
  const int behind = shape.cut.stages() - 1 - place.stage;
  const int ahead = place.schedule == PipelineSchedule::kAllForwardFirst && shape.cut.stages() > 1
                        ? micro_batches
                        : std::min(behind, micro_batches);
  // Divided gradients would be whole for all blocks of the stage until their weights' turn.
  const bool splits = place.schedule == PipelineSchedule::kZeroBubble && shape.cut.stages() > 1 &&
                      !shape.gradients_divided;
  // A stage puts the gradients of its weights off by so many micro-batches. Later stages wait
  // longer at the end of a step.
  const int lag = shape.one_at_a_time ? 0 : place.stage;
  std::vector<Pass> passes;
  int forward = 0, weights = 0;
  while (forward < ahead) stage.Forward(forward++, passes);
  for (int backward = 0; backward < micro_batches; ++backward) {
    if (forward < micro_batches) stage.Forward(forward++, passes);
    stage.Backward(backward, splits, passes);
    if (splits && weights + lag <= backward) stage.BackwardWeights(weights++, passes);
  }
  while (splits && weights < micro_batches) stage.BackwardWeights(weights++, passes);
  return passes;
}

// Returns for each pass the units of the stage whose gradients are whole after it, for its
// micro-batch.
std::vector<std::vector<int>> WholeAfter(const TableShape& shape, const std::vector<Pass>& passes) {
  std::map<std::pair<int, int>, size_t> last;  // by unit and micro-batch
  for (size_t p = 0; p < passes.size(); ++p) {
    const Task& task = passes[p].task;
    if (task.kind != TaskKind::kBackward && task.kind != TaskKind::kBackwardWeight) continue;
    for (size_t u = 0; u < shape.unit_users.size(); ++u) {
      const std::vector<int>& users = shape.unit_users[u];
      if (!std::binary_search(users.begin(), users.end(), task.block)) continue;
      last[{static_cast<int>(u), task.micro_batch}] = p;
    }
  }
  std::vector<std::vector<int>> whole(passes.size());
  for (const auto& [unit, pass] : last) whole[pass].push_back(unit.first);
  return whole;
}

// Returns true if a stage has users of the unit.
bool IsOfStage(const TableShape& shape, int unit, int stage) {
  const std::vector<int>& users = shape.unit_users[static_cast<size_t>(unit)];
  return std::any_of(users.begin(), users.end(),
                     [&](int block) { return shape.cut.StageOf(block) == stage; });
}

// Appends passes through blocks, with the values that they need gathered one block ahead, and after
// each, by its number, what `after` appends. Of passes of micro-batches from `own` on nothing runs
// but that.
template <typename After>
void Append(const TableShape& shape, const std::vector<Pass>& passes, int own, TaskTable& table,
            const After& after) {
  const int units = shape.values_divided ? static_cast<int>(shape.unit_users.size()) : 0;
  std::vector<bool> whole(static_cast<size_t>(units));
  const auto needs = [&](size_t pass, int unit) {
    const std::vector<int>& users = shape.unit_users[static_cast<size_t>(unit)];
    return pass < passes.size() && passes[pass].task.kind != TaskKind::kBackwardWeight &&
           std::binary_search(users.begin(), users.end(), passes[pass].task.block);
  };
  const auto gather_for = [&](size_t pass) {
    for (int u = 0; u < units; ++u) {
      if (whole[static_cast<size_t>(u)] || !needs(pass, u)) continue;
      table.push_back({.kind = TaskKind::kGather, .unit = u});
      whole[static_cast<size_t>(u)] = true;
    }
  };
  gather_for(0);
  for (size_t p = 0; p < passes.size(); ++p) {
    const Pass& pass = passes[p];
    const bool runs = pass.task.micro_batch < own;
    gather_for(p + 1);
    if (runs && pass.before) table.push_back(*pass.before);
    if (runs) table.push_back(pass.task);
    if (runs && pass.after) table.push_back(*pass.after);
    for (int u = 0; u < units; ++u) {
      if (!whole[static_cast<size_t>(u)] || needs(p + 1, u)) continue;
      table.push_back({.kind = TaskKind::kRelease, .unit = u});
      whole[static_cast<size_t>(u)] = false;
    }
    after(p);
  }
}

absl::Status CheckAxes(const MeshShape& mesh) {
  if (mesh.expert == 1) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "a layout with expert ", mesh.expert,
      ": this trainer divides its work along pipeline, data, shard, context and tensor; set expert "
      "to 1"));
}

}  // namespace

TaskTable StepTable(const TableShape& shape, int micro_batches, int most,
                    const PipelinePlace& place) {
  TaskTable table;
  const int units = static_cast<int>(shape.unit_users.size());
  const int rounds = shape.gradients_divided || shape.values_divided ? most : micro_batches;
  const std::vector<Pass> passes = PassesOf(shape, place, rounds);
  const std::vector<std::vector<int>> whole_after = WholeAfter(shape, passes);
  Append(shape, passes, micro_batches, table, [&](size_t pass) {
    if (!shape.gradients_divided && passes[pass].task.micro_batch != rounds - 1) return;
    for (const int unit : whole_after[pass]) {
      table.push_back({.kind = TaskKind::kReduce, .unit = unit});
    }
  });
  table.push_back({.kind = TaskKind::kVote});
  if (shape.optimizer_prepares) {
    table.push_back({.kind = TaskKind::kPrepare});
    table.push_back({.kind = TaskKind::kConfirm});
  }
  table.push_back({.kind = TaskKind::kApply});
  const bool refresh = shape.divided && !shape.values_divided;
  for (int u = 0; refresh && u < units; ++u) {
    if (!IsOfStage(shape, u, place.stage)) continue;
    table.push_back({.kind = TaskKind::kGather, .unit = u});
  }
  return table;
}

TaskTable EvaluationTable(const TableShape& shape, const PipelinePlace& place) {
  std::vector<Pass> passes;
  StagePasses(shape, place).Forward(0, passes);
  TaskTable table;
  Append(shape, passes, 1, table, [](size_t) {});
  return table;
}

int MostMicroBatches(const MeshShape& mesh, int64_t micro_batches) {
  const int64_t ranks = mesh.workers();
  return static_cast<int>((micro_batches + ranks - 1) / ranks);
}

absl::StatusOr<LayoutTables> MakeTables(const TableShape& shape, const MeshShape& mesh,
                                        int64_t micro_batches, PipelineSchedule schedule) {
  MUSTER_RETURN_IF_ERROR(CheckAxes(mesh));
  const int workers = mesh.workers();
  if (workers > micro_batches) {
    return absl::InvalidArgumentError(absl::StrCat(workers, " ranks for ", micro_batches,
                                                   " micro-batches: a rank would have none"));
  }
  if (mesh.pipeline != shape.cut.stages()) {
    return absl::InternalError(absl::StrCat("a layout with pipeline ", mesh.pipeline,
                                            " for a model that is cut into ", shape.cut.stages()));
  }
  const int most = MostMicroBatches(mesh, micro_batches);
  LayoutTables tables;
  std::map<int, int> first_of;  // table of a pipeline, by its number of micro-batches
  for (int r = 0; r < mesh.size(); ++r) {
    const TreeNode range = RankRange(micro_batches, mesh.WorkerOf(r), workers);
    const int own = static_cast<int>(range.leaves());
    const auto [found, is_new] =
        first_of.try_emplace(own, static_cast<int>(tables.distinct.size()));
    for (int stage = 0; is_new && stage < mesh.pipeline; ++stage) {
      tables.distinct.push_back(StepTable(
          shape, own, most, {.stage = stage, .first_peer = found->second, .schedule = schedule}));
    }
    tables.of_rank.push_back(found->second + mesh.CoordinatesOf(r).pipeline);
  }
  return tables;
}

}  // namespace muster::trainer
