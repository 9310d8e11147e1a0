#include "trainer/engine/table/task_table.h"

#include <algorithm>
#include <map>

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

std::vector<Task> PassesOf(const TableShape& shape, int micro_batch, bool backward) {
  std::vector<Task> passes;
  for (int b = 0; b < shape.blocks; ++b) {
    passes.push_back({.kind = TaskKind::kForward, .block = b, .micro_batch = micro_batch});
  }
  for (int b = shape.blocks - 1; backward && b >= 0; --b) {
    passes.push_back({.kind = TaskKind::kBackward, .block = b, .micro_batch = micro_batch});
  }
  return passes;
}

// Appends passes through blocks, with the values that they need gathered one block ahead, and after
// each what `after` appends. Of passes of micro-batches from `own` on nothing runs but that.
template <typename After>
void Append(const TableShape& shape, const std::vector<Task>& passes, int own, TaskTable& table,
            const After& after) {
  const int units = shape.values_divided ? static_cast<int>(shape.unit_users.size()) : 0;
  std::vector<bool> whole(static_cast<size_t>(units));
  const auto needs = [&](size_t pass, int unit) {
    const std::vector<int>& users = shape.unit_users[static_cast<size_t>(unit)];
    return pass < passes.size() &&
           std::binary_search(users.begin(), users.end(), passes[pass].block);
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
    gather_for(p + 1);
    if (passes[p].micro_batch < own) table.push_back(passes[p]);
    for (int u = 0; u < units; ++u) {
      if (!whole[static_cast<size_t>(u)] || needs(p + 1, u)) continue;
      table.push_back({.kind = TaskKind::kRelease, .unit = u});
      whole[static_cast<size_t>(u)] = false;
    }
    after(passes[p]);
  }
}

absl::Status CheckAxes(const MeshShape& mesh) {
  const struct {
    const char* name;
    int extent;
  } undivided[] = {{"pipeline", mesh.pipeline}, {"context", mesh.context}, {"expert", mesh.expert}};
  for (const auto& axis : undivided) {
    if (axis.extent == 1) continue;
    return absl::UnimplementedError(absl::StrCat(
        "a layout with ", axis.name, " ", axis.extent,
        ": this trainer divides its work along data, shard and tensor; set ", axis.name, " to 1"));
  }
  return absl::OkStatus();
}

}  // namespace

TaskTable DataParallelTable(const TableShape& shape, int micro_batches, int most) {
  TaskTable table;
  const int rounds = shape.gradients_divided || shape.values_divided ? most : micro_batches;
  std::vector<Task> passes;
  for (int m = 0; m < rounds; ++m) {
    const std::vector<Task> of_one = PassesOf(shape, m, /*backward=*/true);
    passes.insert(passes.end(), of_one.begin(), of_one.end());
  }
  Append(shape, passes, micro_batches, table, [&](const Task& pass) {
    if (pass.kind != TaskKind::kBackward) return;
    if (!shape.gradients_divided && pass.micro_batch != rounds - 1) return;
    for (size_t u = 0; u < shape.unit_users.size(); ++u) {
      if (shape.unit_users[u].front() != pass.block) continue;
      table.push_back({.kind = TaskKind::kReduce, .unit = static_cast<int>(u)});
    }
  });
  table.push_back({.kind = TaskKind::kVote});
  if (shape.optimizer_prepares) {
    table.push_back({.kind = TaskKind::kPrepare});
    table.push_back({.kind = TaskKind::kConfirm});
  }
  table.push_back({.kind = TaskKind::kApply});
  const bool refresh = shape.divided && !shape.values_divided;
  for (size_t u = 0; refresh && u < shape.unit_users.size(); ++u) {
    table.push_back({.kind = TaskKind::kGather, .unit = static_cast<int>(u)});
  }
  return table;
}

TaskTable EvaluationTable(const TableShape& shape) {
  TaskTable table;
  Append(shape, PassesOf(shape, 0, /*backward=*/false), 1, table, [](const Task&) {});
  return table;
}

int MostMicroBatches(const MeshShape& mesh, int64_t micro_batches) {
  const int64_t ranks = mesh.workers();
  return static_cast<int>((micro_batches + ranks - 1) / ranks);
}

absl::StatusOr<LayoutTables> MakeTables(const TableShape& shape, const MeshShape& mesh,
                                        int64_t micro_batches) {
  MUSTER_RETURN_IF_ERROR(CheckAxes(mesh));
  const int workers = mesh.workers();
  if (workers > micro_batches) {
    return absl::InvalidArgumentError(absl::StrCat(workers, " ranks for ", micro_batches,
                                                   " micro-batches: a rank would have none"));
  }
  const int most = MostMicroBatches(mesh, micro_batches);
  LayoutTables tables;
  std::map<int, int> index_of;  // by number of micro-batches
  for (int r = 0; r < mesh.size(); ++r) {
    const TreeNode range = RankRange(micro_batches, mesh.WorkerOf(r), workers);
    const int own = static_cast<int>(range.leaves());
    const auto [found, is_new] = index_of.try_emplace(own, tables.distinct.size());
    if (is_new) tables.distinct.push_back(DataParallelTable(shape, own, most));
    tables.of_rank.push_back(found->second);
  }
  return tables;
}

}  // namespace muster::trainer
