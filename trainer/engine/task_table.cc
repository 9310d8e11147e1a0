#include "trainer/engine/task_table.h"

#include "absl/strings/str_cat.h"

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

TaskTable DataParallelTable(const TableShape& shape, int micro_batches) {
  TaskTable table;
  for (int m = 0; m < micro_batches; ++m) {
    for (int b = 0; b < shape.blocks; ++b) {
      table.push_back({.kind = TaskKind::kForward, .block = b, .micro_batch = m});
    }
    for (int b = shape.blocks - 1; b >= 0; --b) {
      table.push_back({.kind = TaskKind::kBackward, .block = b, .micro_batch = m});
      if (m != micro_batches - 1) continue;
      for (size_t u = 0; u < shape.unit_users.size(); ++u) {
        if (shape.unit_users[u].front() != b) continue;
        table.push_back({.kind = TaskKind::kReduce, .unit = static_cast<int>(u)});
      }
    }
  }
  table.push_back({.kind = TaskKind::kVote});
  if (shape.optimizer_prepares) {
    table.push_back({.kind = TaskKind::kPrepare});
    table.push_back({.kind = TaskKind::kConfirm});
  }
  table.push_back({.kind = TaskKind::kApply});
  for (size_t u = 0; shape.divided && u < shape.unit_users.size(); ++u) {
    table.push_back({.kind = TaskKind::kGather, .unit = static_cast<int>(u)});
  }
  return table;
}

}  // namespace muster::trainer
