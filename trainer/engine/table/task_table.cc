#include "trainer/engine/table/task_table.h"

#include <algorithm>
#include <cstddef>
#include <deque>
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
  std::vector<Task> before;
  std::optional<Task> after;
};

// A micro-batch in one of a stage's runs of blocks.
struct ChunkOfBatch {
  int chunk = 0;
  int micro_batch = 0;
};

// The passes of one stage.
class StagePasses {
 public:
  StagePasses(const TableShape& shape, const PipelinePlace& place) : shape_(shape), place_(place) {}

  void Forward(ChunkOfBatch at, std::vector<Pass>& out) const {
    const auto [run, first, end] = BlocksOf(at.chunk);
    for (int b = first; b < end; ++b) {
      Pass& pass = out.emplace_back();
      pass.task = {.kind = TaskKind::kForward, .block = b, .micro_batch = at.micro_batch};
      if (b == first) {
        AddTo(pass.before, Message(TaskKind::kRecv, b - 1, at.micro_batch, run - 1, false));
      }
      if (b + 1 == end) pass.after = Message(TaskKind::kSend, b, at.micro_batch, run + 1, false);
    }
  }
  // If `splits`, of the blocks that can split it only the half that other stages wait for.
  void Backward(ChunkOfBatch at, bool splits, std::vector<Pass>& out) const {
    const auto [run, first, end] = BlocksOf(at.chunk);
    for (int b = end - 1; b >= first; --b) {
      Pass& pass = out.emplace_back();
      pass.task = {.kind = splits && CanSplit(b) ? TaskKind::kBackwardInput : TaskKind::kBackward,
                   .block = b,
                   .micro_batch = at.micro_batch};
      if (b + 1 == end) {
        AddTo(pass.before, Message(TaskKind::kRecv, b, at.micro_batch, run + 1, true));
      }
      if (b == first) {
        pass.after = Message(TaskKind::kSend, b - 1, at.micro_batch, run - 1, true);
      }
    }
  }

  void BackwardWeights(ChunkOfBatch at, std::vector<Pass>& out) const {
    const auto [run, first, end] = BlocksOf(at.chunk);
    for (int b = end - 1; b >= first; --b) {
      if (!CanSplit(b)) continue;
      out.emplace_back().task = {
          .kind = TaskKind::kBackwardWeight, .block = b, .micro_batch = at.micro_batch};
    }
  }

 private:
  struct Run {
    int run, first, end;  // the run, and its blocks
  };
  Run BlocksOf(int chunk) const {
    const int run = chunk * shape_.cut.stages() + place_.stage;
    return {run, shape_.cut.first(run), std::min(shape_.blocks, shape_.cut.first(run + 1))};
  }
  bool CanSplit(int block) const { return shape_.can_split[static_cast<size_t>(block)]; }
  static void AddTo(std::vector<Task>& messages, const std::optional<Task>& message) {
    if (message) messages.push_back(*message);
  }
  // Returns a message to or from the stage of another run; nothing if that is this stage, or if
  // there is no such run.
  std::optional<Task> Message(TaskKind kind, int block, int micro_batch, int run,
                              bool gradient) const {
    if (run < 0 || run >= shape_.cut.runs()) return std::nullopt;
    const int stage = shape_.cut.StageOfRun(run);
    if (stage == place_.stage) return std::nullopt;
    return Task{.kind = kind,
                .block = block,
                .micro_batch = micro_batch,
                .peer = place_.first_peer + stage,
                .gradient = gradient};
  }

  const TableShape& shape_;
  const PipelinePlace place_;
};

// Micro-batches that pass through one chunk of a stage after the other. Groups are equal, or the
// first ones have one more. None is smaller than the number of stages unless it is the only one:
// after a smaller one, stages would wait for each other in a circle.
struct BatchGroups {
  int count = 1;
  int smaller = 0;  // the size of the last group
  int larger = 0;   // the number of groups that have one more

  BatchGroups(const StageCut& cut, int micro_batches)
      : count(std::max(1, micro_batches / cut.stages())),
        smaller(micro_batches / count),
        larger(micro_batches % count) {}
  int size(int group) const { return smaller + (group < larger ? 1 : 0); }
};

// Returns the order in which a stage runs forward passes.
std::vector<ChunkOfBatch> ForwardOrder(const StageCut& cut, const BatchGroups& groups) {
  std::vector<ChunkOfBatch> order;
  int first = 0;
  for (int group = 0; group < groups.count; first += groups.size(group++)) {
    for (int chunk = 0; chunk < cut.chunks(); ++chunk) {
      for (int i = 0; i < groups.size(group); ++i) order.push_back({chunk, first + i});
    }
  }
  return order;
}

// Returns how many forward passes a stage runs before its first backward pass follows one.
int PassesAhead(const StageCut& cut, const PipelinePlace& place, const BatchGroups& groups,
                int passes) {
  if (place.schedule == PipelineSchedule::kAllForwardFirst && cut.stages() > 1) return passes;
  const int behind = cut.stages() - 1 - place.stage;
  // A group goes through all runs but the last; then a pass in the last run of each later stage
  // lies between this stage's own and the gradient's return, and as many on the way back.
  const int ahead = cut.chunks() == 1 ? behind : 2 * behind + (cut.chunks() - 1) * groups.size(0);
  return std::min(ahead, passes);
}

// Returns the passes of a stage, in the order of its schedule.
std::vector<Pass> PassesOf(const TableShape& shape, const PipelinePlace& place, int micro_batches) {
  const StagePasses stage(shape, place);
  const BatchGroups groups(shape.cut, micro_batches);
  const std::vector<ChunkOfBatch> forwards = ForwardOrder(shape.cut, groups);
  std::vector<ChunkOfBatch> backwards = forwards;
  for (ChunkOfBatch& at : backwards) at.chunk = shape.cut.chunks() - 1 - at.chunk;
  const size_t all = forwards.size();
  const auto ahead =
      static_cast<size_t>(PassesAhead(shape.cut, place, groups, static_cast<int>(all)));
  // Divided gradients would be whole for all blocks of the stage until their weights' turn.
  const bool splits = place.schedule == PipelineSchedule::kZeroBubble && shape.cut.stages() > 1 &&
                      !shape.gradients_divided;
  // A stage puts the gradients of its weights off by so many micro-batches. Later stages wait
  // longer at the end of a step.
  const size_t lag = shape.one_at_a_time ? 0 : static_cast<size_t>(place.stage);
  std::vector<Pass> passes;
  size_t forward = 0, weights = 0;
  while (forward < ahead) stage.Forward(forwards[forward++], passes);
  for (size_t backward = 0; backward < all; ++backward) {
    if (forward < all) stage.Forward(forwards[forward++], passes);
    stage.Backward(backwards[backward], splits, passes);
    if (splits && weights + lag <= backward) stage.BackwardWeights(backwards[weights++], passes);
  }
  while (splits && weights < all) stage.BackwardWeights(backwards[weights++], passes);
  return passes;
}

// Lets a stage take the messages of another one in the order in which they are sent. In a pipeline
// of two stages with several chunks, outputs and gradients come from the same stage, and a pass may
// need a message before another that was sent earlier.
void TakeAsSent(const TableShape& shape, const PipelinePlace& place, int micro_batches,
                std::vector<Pass>& passes) {
  if (shape.cut.chunks() == 1) return;
  std::map<int, std::deque<Task>> sent;  // by peer
  const int own = place.first_peer + place.stage;
  for (int stage = 0; stage < shape.cut.stages(); ++stage) {
    PipelinePlace other = place;
    other.stage = stage;
    for (const Pass& pass : PassesOf(shape, other, micro_batches)) {
      if (pass.after && pass.after->peer == own) {
        sent[place.first_peer + stage].push_back(*pass.after);
      }
    }
  }
  for (Pass& pass : passes) {
    const std::vector<Task> needed = std::exchange(pass.before, {});
    for (const Task& message : needed) {
      std::deque<Task>& queue = sent[message.peer];
      const auto is_same = [&](const Task& other) {
        return other.block == message.block && other.micro_batch == message.micro_batch &&
               other.gradient == message.gradient;
      };
      const auto end = std::find_if(queue.begin(), queue.end(), is_same);
      if (end == queue.end()) continue;  // an earlier pass has taken it along
      for (auto it = queue.begin(); it != end + 1; ++it) {
        Task taken = *it;
        taken.kind = TaskKind::kRecv;
        taken.peer = message.peer;
        pass.before.push_back(taken);
      }
      queue.erase(queue.begin(), end + 1);
    }
  }
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
    for (const Task& message : pass.before) {
      if (message.micro_batch < own) table.push_back(message);
    }
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
  std::vector<Pass> passes = PassesOf(shape, place, rounds);
  TakeAsSent(shape, place, rounds, passes);
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
  for (int chunk = 0; chunk < shape.cut.chunks(); ++chunk) {
    StagePasses(shape, place).Forward({.chunk = chunk}, passes);
  }
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
