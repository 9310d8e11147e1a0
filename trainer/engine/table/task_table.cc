#include "trainer/engine/table/task_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

bool SplitsBackward(const TableShape& shape, PipelineSchedule schedule) {
  const bool zero_bubble =
      schedule == PipelineSchedule::kZeroBubble || schedule == PipelineSchedule::kZeroBubbleV;
  return zero_bubble && shape.cut.stages() > 1 && !shape.gradients_divided;
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
    const int run = shape_.cut.RunOf(place_.stage, chunk);
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

// Returns the passes of a stage that alternates between forward and backward passes.
std::vector<Pass> AlternatingPasses(const TableShape& shape, const PipelinePlace& place,
                                    int micro_batches) {
  const StagePasses stage(shape, place);
  const BatchGroups groups(shape.cut, micro_batches);
  const std::vector<ChunkOfBatch> forwards = ForwardOrder(shape.cut, groups);
  std::vector<ChunkOfBatch> backwards = forwards;
  for (ChunkOfBatch& at : backwards) at.chunk = shape.cut.chunks() - 1 - at.chunk;
  const size_t all = forwards.size();
  const auto ahead =
      static_cast<size_t>(PassesAhead(shape.cut, place, groups, static_cast<int>(all)));
  const bool splits = SplitsBackward(shape, place.schedule);
  // The number of micro-batches by which a stage puts off the gradients of its weights. Later
  // stages wait longer at the end of a step.
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

// Writes the passes of folded stages by running them together, on a clock on which a pass through a
// chunk takes 1, or 2 if it is a whole backward pass. At each time a stage that is free begins the
// first pass that it can, in the order of PipelineSchedule::kZeroBubbleV.
class FoldedStages {
 public:
  FoldedStages(const TableShape& shape, int first_peer, PipelineSchedule schedule,
               int micro_batches)
      : shape_(shape),
        micro_batches_(micro_batches),
        splits_(SplitsBackward(shape, schedule)),
        stages_(static_cast<size_t>(shape.cut.stages())),
        forwards_(EndTimes()),
        backwards_(EndTimes()) {
    for (int s = 0; s < shape.cut.stages(); ++s) {
      stages_[static_cast<size_t>(s)].passes_of = std::make_unique<StagePasses>(
          shape, PipelinePlace{.stage = s, .first_peer = first_peer, .schedule = schedule});
      stages_[static_cast<size_t>(s)].joined =
          (shape.one_at_a_time || shape.gradients_divided) && SharesAUnit(s);
    }
  }

  std::vector<std::vector<Pass>> Run() {
    const int64_t each = int64_t{2} * micro_batches_ * (splits_ ? 3 : 2);
    int64_t left = each * shape_.cut.stages();
    for (int64_t now = 0; left > 0; ++now) {
      for (size_t s = 0; s < stages_.size(); ++s) {
        if (stages_[s].free_at <= now && Begin(static_cast<int>(s), now)) --left;
      }
    }
    std::vector<std::vector<Pass>> passes;
    for (Stage& stage : stages_) passes.push_back(std::move(stage.passes));
    return passes;
  }

 private:
  static constexpr int64_t kNever = INT64_MAX;
  using Times = std::vector<std::vector<int64_t>>;  // by run and micro-batch

  struct Stage {
    std::unique_ptr<StagePasses> passes_of;
    std::vector<Pass> passes;
    int forward[2] = {}, backward[2] = {}, weights[2] = {};  // the next micro-batch, by chunk
    int kept = 0;                                            // passes through a chunk
    // Blocks of both chunks use one unit, whose gradients of a micro-batch must be whole before
    // those of the next begin.
    bool joined = false;
    int64_t free_at = 0;
  };

  bool SharesAUnit(int s) const {
    return std::any_of(shape_.unit_users.begin(), shape_.unit_users.end(), [&](const auto& users) {
      const auto in = [&](int chunk) {
        const int run = shape_.cut.RunOf(s, chunk);
        return std::any_of(users.begin(), users.end(),
                           [&](int block) { return shape_.cut.RunOfBlock(block) == run; });
      };
      return in(0) && in(1);
    });
  }
  Times EndTimes() const {
    return Times(static_cast<size_t>(shape_.cut.runs()),
                 std::vector<int64_t>(static_cast<size_t>(micro_batches_), kNever));
  }
  static int64_t& At(Times& times, int run, int micro_batch) {
    return times[static_cast<size_t>(run)][static_cast<size_t>(micro_batch)];
  }

  bool Begin(int s, int64_t now) {
    return BeginBackward(s, 1, now) || BeginBackward(s, 0, now) || BeginForward(s, 1, now) ||
           BeginForward(s, 0, now) || BeginWeights(s, 1, now) || BeginWeights(s, 0, now);
  }

  bool BeginForward(int s, int chunk, int64_t now) {
    Stage& stage = stages_[static_cast<size_t>(s)];
    const int run = shape_.cut.RunOf(s, chunk), m = stage.forward[chunk];
    // There is always room for the second chunk of a micro-batch whose first one has run.
    const bool owes = chunk == 0 && stage.forward[1] < stage.forward[0];
    const int most = 2 * shape_.cut.stages() - (owes ? 1 : 0);
    if (m == micro_batches_ || stage.kept >= most) return false;
    if (run > 0 && At(forwards_, run - 1, m) > now) return false;
    stage.passes_of->Forward({chunk, m}, stage.passes);
    ++stage.forward[chunk];
    ++stage.kept;
    At(forwards_, run, m) = stage.free_at = now + 1;
    return true;
  }

  bool BeginBackward(int s, int chunk, int64_t now) {
    Stage& stage = stages_[static_cast<size_t>(s)];
    const int run = shape_.cut.RunOf(s, chunk), m = stage.backward[chunk];
    if (m == stage.forward[chunk] || At(forwards_, run, m) > now) return false;
    if (run + 1 < shape_.cut.runs() && At(backwards_, run + 1, m) > now) return false;
    if (splits_ && shape_.one_at_a_time && stage.weights[chunk] < m) return false;
    if (chunk == 1 && stage.joined && stage.backward[0] < m) return false;
    stage.passes_of->Backward({chunk, m}, splits_, stage.passes);
    ++stage.backward[chunk];
    if (!splits_) --stage.kept;
    At(backwards_, run, m) = stage.free_at = now + (splits_ ? 1 : 2);
    return true;
  }

  bool BeginWeights(int s, int chunk, int64_t now) {
    Stage& stage = stages_[static_cast<size_t>(s)];
    if (!splits_ || stage.weights[chunk] == stage.backward[chunk]) return false;
    stage.passes_of->BackwardWeights({chunk, stage.weights[chunk]++}, stage.passes);
    --stage.kept;
    stage.free_at = now + 1;
    return true;
  }

  const TableShape& shape_;
  const int micro_batches_;
  const bool splits_;
  std::vector<Stage> stages_;
  Times forwards_, backwards_;  // when passes end
};

// Lets each stage take the messages of another one in the order in which they are sent. With
// several chunks, outputs and gradients come from the same stage, and a pass may need a message
// before another that was sent earlier.
void TakeAsSent(int first_peer, std::vector<std::vector<Pass>>& stages) {
  std::map<std::pair<int, int>, std::deque<Task>> sent;  // from a peer to another
  for (size_t s = 0; s < stages.size(); ++s) {
    const int peer = first_peer + static_cast<int>(s);
    for (const Pass& pass : stages[s]) {
      if (pass.after) sent[{peer, pass.after->peer}].push_back(*pass.after);
    }
  }
  for (size_t s = 0; s < stages.size(); ++s) {
    for (Pass& pass : stages[s]) {
      for (const Task& message : std::exchange(pass.before, {})) {
        std::deque<Task>& queue = sent[{message.peer, first_peer + static_cast<int>(s)}];
        const auto is_same = [&](const Task& other) {
          return other.block == message.block && other.micro_batch == message.micro_batch &&
                 other.gradient == message.gradient;
        };
        const auto found = std::find_if(queue.begin(), queue.end(), is_same);
        if (found == queue.end()) continue;  // an earlier pass has taken it along
        for (auto it = queue.begin(); it != found + 1; ++it) {
          pass.before.push_back(*it);
          pass.before.back().kind = TaskKind::kRecv;
          pass.before.back().peer = message.peer;
        }
        queue.erase(queue.begin(), found + 1);
      }
    }
  }
}

// Returns the passes of all stages of a pipeline, in the order of the schedule.
std::vector<std::vector<Pass>> PassesOf(const TableShape& shape, int first_peer,
                                        PipelineSchedule schedule, int micro_batches) {
  std::vector<std::vector<Pass>> stages;
  if (shape.cut.form() == StageForm::kFolded) {
    stages = FoldedStages(shape, first_peer, schedule, micro_batches).Run();
  } else {
    for (int s = 0; s < shape.cut.stages(); ++s) {
      const PipelinePlace place{.stage = s, .first_peer = first_peer, .schedule = schedule};
      stages.push_back(AlternatingPasses(shape, place, micro_batches));
    }
  }
  TakeAsSent(first_peer, stages);
  return stages;
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

// Returns the first block of a stage that uses the unit, or -1.
int FirstUserOf(const TableShape& shape, int unit, int stage) {
  const std::vector<int>& users = shape.unit_users[static_cast<size_t>(unit)];
  const auto found = std::find_if(users.begin(), users.end(),
                                  [&](int block) { return shape.cut.StageOf(block) == stage; });
  return found == users.end() ? -1 : *found;
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

// Returns how many micro-batches a rank takes part in, in the collectives at least.
int RoundsOf(const TableShape& shape, int micro_batches, int most) {
  return shape.gradients_divided || shape.values_divided ? most : micro_batches;
}

// Appends the Reduce of each unit once for a step. Ranks of one stage may have different numbers of
// micro-batches, and units may then become whole in another order; so every rank reduces first what
// later blocks use.
class ReduceOrder {
 public:
  ReduceOrder(const TableShape& shape, int stage) {
    std::vector<int> first_users;  // by unit
    for (size_t u = 0; u < shape.unit_users.size(); ++u) {
      first_users.push_back(FirstUserOf(shape, static_cast<int>(u), stage));
      if (first_users.back() >= 0) units_.push_back(static_cast<int>(u));
    }
    std::stable_sort(units_.begin(), units_.end(), [&](int a, int b) {
      return first_users[static_cast<size_t>(a)] > first_users[static_cast<size_t>(b)];
    });
  }

  void IsWhole(int unit, TaskTable& table) {
    whole_.insert(unit);
    for (; next_ < units_.size() && whole_.contains(units_[next_]); ++next_) {
      table.push_back({.kind = TaskKind::kReduce, .unit = units_[next_]});
    }
  }

 private:
  std::vector<int> units_;
  std::set<int> whole_;
  size_t next_ = 0;
};

TaskTable TableOf(const TableShape& shape, const std::vector<Pass>& passes, int stage,
                  int micro_batches, int rounds) {
  TaskTable table;
  const int units = static_cast<int>(shape.unit_users.size());
  const std::vector<std::vector<int>> whole_after = WholeAfter(shape, passes);
  ReduceOrder order(shape, stage);
  Append(shape, passes, micro_batches, table, [&](size_t pass) {
    const bool last = passes[pass].task.micro_batch == rounds - 1;
    for (const int unit : whole_after[pass]) {
      if (shape.gradients_divided) table.push_back({.kind = TaskKind::kReduce, .unit = unit});
      if (!shape.gradients_divided && last) order.IsWhole(unit, table);
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
    if (FirstUserOf(shape, u, stage) < 0) continue;
    table.push_back({.kind = TaskKind::kGather, .unit = u});
  }
  return table;
}

}  // namespace

TaskTable StepTable(const TableShape& shape, int micro_batches, int most,
                    const PipelinePlace& place) {
  const int rounds = RoundsOf(shape, micro_batches, most);
  const std::vector<std::vector<Pass>> stages =
      PassesOf(shape, place.first_peer, place.schedule, rounds);
  return TableOf(shape, stages[static_cast<size_t>(place.stage)], place.stage, micro_batches,
                 rounds);
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
    if (is_new) {
      const int rounds = RoundsOf(shape, own, most);
      int stage = 0;
      for (const std::vector<Pass>& passes : PassesOf(shape, found->second, schedule, rounds)) {
        tables.distinct.push_back(TableOf(shape, passes, stage++, own, rounds));
      }
    }
    tables.of_rank.push_back(found->second + mesh.CoordinatesOf(r).pipeline);
  }
  return tables;
}

}  // namespace muster::trainer
