#include "trainer/engine/table/table_run.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

double Cost(TaskKind kind) {
  switch (kind) {
    case TaskKind::kForward:
    case TaskKind::kBackwardInput:
    case TaskKind::kBackwardWeight:
      return 1.0;
    case TaskKind::kBackward:
      return 2.0;
    default:
      return 0.0;
  }
}

class Simulation {
 public:
  explicit Simulation(const std::vector<TaskTable>& ranks)
      : ranks_(ranks), next_(ranks.size()), clock_(ranks.size()), busy_(ranks.size()) {}

  absl::StatusOr<double> Run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t r = 0; r < ranks_.size(); ++r) {
        while (next_[r] < ranks_[r].size() && !IsVote(ranks_[r][next_[r]].kind)) {
          MUSTER_ASSIGN_OR_RETURN(const bool ran, RunTask(static_cast<int>(r)));
          if (!ran) break;
          moved = true;
        }
      }
      moved = Vote() || moved;
    }
    return End();
  }

 private:
  absl::StatusOr<bool> RunTask(int rank) {
    const Task& task = ranks_[rank][next_[rank]];
    if (task.kind == TaskKind::kSend) {
      messages_[{rank, task.peer}].push_back({task, clock_[rank]});
    } else if (task.kind == TaskKind::kRecv) {
      auto& queue = messages_[{task.peer, rank}];
      if (queue.empty()) return false;
      const auto& [sent, when] = queue.front();
      if (sent.block != task.block || sent.micro_batch != task.micro_batch ||
          sent.gradient != task.gradient) {
        return absl::InvalidArgumentError(absl::StrCat("task tables: rank ", rank, " expects ",
                                                       ToString(task), " but rank ", task.peer,
                                                       " sent ", ToString(sent)));
      }
      clock_[rank] = std::max(clock_[rank], when);
      queue.pop_front();
    }
    clock_[rank] += Cost(task.kind);
    busy_[rank] += Cost(task.kind);
    ++next_[rank];
    return true;
  }

  // Passes a vote or a confirmation that every rank has come to.
  bool Vote() {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (next_[r] == ranks_[r].size() || !IsVote(ranks_[r][next_[r]].kind) ||
          ranks_[r][next_[r]].kind != ranks_[0][next_[0]].kind) {
        return false;
      }
    }
    const double latest = *std::max_element(clock_.begin(), clock_.end());
    std::fill(clock_.begin(), clock_.end(), latest);
    for (size_t& next : next_) ++next;
    return true;
  }

  absl::StatusOr<double> End() const {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (next_[r] == ranks_[r].size()) continue;
      return absl::InvalidArgumentError(absl::StrCat("task tables: deadlock: rank ", r,
                                                     " would wait forever in ",
                                                     ToString(ranks_[r][next_[r]])));
    }
    for (const auto& [pair, queue] : messages_) {
      if (queue.empty()) continue;
      return absl::InvalidArgumentError(absl::StrCat("task tables: no rank receives ",
                                                     ToString(queue.front().first), " from rank ",
                                                     pair.first));
    }
    double busy = 0.0, longest = 0.0;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      busy += busy_[r];
      longest = std::max(longest, clock_[r]);
    }
    return 1.0 - busy / (longest * static_cast<double>(ranks_.size()));
  }

  const std::vector<TaskTable>& ranks_;
  std::vector<size_t> next_;
  std::vector<double> clock_, busy_;
  std::map<std::pair<int, int>, std::deque<std::pair<Task, double>>> messages_;
};

}  // namespace

absl::StatusOr<double> RunTables(const std::vector<TaskTable>& ranks) {
  return Simulation(ranks).Run();
}

}  // namespace muster::trainer
