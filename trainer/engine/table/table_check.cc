#include "trainer/engine/table/table_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/engine/table/collective_order.h"
#include "trainer/engine/table/table_run.h"

namespace muster::trainer {
namespace {

bool Communicates(TaskKind kind) {
  switch (kind) {
    case TaskKind::kGather:
    case TaskKind::kReduce:
    case TaskKind::kSend:
    case TaskKind::kRecv:
    case TaskKind::kVote:
    case TaskKind::kPrepare:
    case TaskKind::kConfirm:
      return true;
    case TaskKind::kForward:
    case TaskKind::kBackward:
    case TaskKind::kBackwardInput:
    case TaskKind::kBackwardWeight:
    case TaskKind::kRelease:
    case TaskKind::kApply:
      return false;
  }
  return false;
}

// Checks one rank's table by itself, task by task.
class RankCheck {
 public:
  RankCheck(const TableShape& shape, int rank, int ranks, const TaskTable& table)
      : shape_(shape), rank_(rank), ranks_(ranks), table_(table) {}

  absl::Status Run() {
    for (const Task& task : table_) {
      if (task.kind == TaskKind::kForward) ++forwards_[task.block];
      if (IsVote(task.kind)) ++votes_;
    }
    for (const Task& task : table_) {
      MUSTER_RETURN_IF_ERROR(CheckNames(task));
      MUSTER_RETURN_IF_ERROR(CheckOrder(task));
    }
    return CheckEnd();
  }
  int most_alive() const { return most_alive_; }

 private:
  using Place = std::pair<int, int>;  // block, micro-batch
  struct Progress {
    bool forward = false, input = false, weight = false;
  };

  absl::Status Refuse(const Task& task, std::string why) const {
    return absl::InvalidArgumentError(
        absl::StrCat("task table of rank ", rank_, ": ", ToString(task), " ", why));
  }

  absl::Status CheckNames(const Task& task) const {
    const bool has_block = task.kind <= TaskKind::kBackwardWeight || task.kind == TaskKind::kSend ||
                           task.kind == TaskKind::kRecv;
    if (has_block && (task.block < 0 || task.block >= shape_.blocks)) {
      return Refuse(task, absl::StrCat("must name one of the ", shape_.blocks, " blocks"));
    }
    if (has_block && task.micro_batch < 0) return Refuse(task, "must name a micro-batch");
    const int units = static_cast<int>(shape_.unit_users.size());
    const bool has_unit = task.kind == TaskKind::kGather || task.kind == TaskKind::kRelease ||
                          task.kind == TaskKind::kReduce;
    if (task.unit >= units || (has_unit && task.unit < 0)) {
      return Refuse(task, absl::StrCat("must name one of the ", units, " units"));
    }
    const bool has_peer = task.kind == TaskKind::kSend || task.kind == TaskKind::kRecv;
    if (has_peer && (task.peer < 0 || task.peer >= ranks_ || task.peer == rank_)) {
      return Refuse(task,
                    absl::StrCat("must name one of the other ", ranks_ - 1, " ranks as its peer"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckOrder(const Task& task) {
    if (votes_seen_ == votes_ && votes_ > 0 && !applies_done() && Communicates(task.kind)) {
      return Refuse(task, "communicates between the vote and the apply");
    }
    switch (task.kind) {
      case TaskKind::kForward:
        return Forward(task);
      case TaskKind::kBackward:
      case TaskKind::kBackwardInput:
      case TaskKind::kBackwardWeight:
        return Backward(task);
      case TaskKind::kReduce:
        return Reduce(task);
      case TaskKind::kRecv:
        received_.insert({task.block, task.micro_batch, task.gradient});
        return absl::OkStatus();
      case TaskKind::kSend:
        return Send(task);
      case TaskKind::kVote:
        ++votes_seen_;
        return NeedReduces(task);
      case TaskKind::kPrepare:
        if (votes_seen_ == 0) return Refuse(task, "comes before the vote");
        prepared_ = true;
        return absl::OkStatus();
      case TaskKind::kConfirm:
        if (!prepared_) return Refuse(task, "comes before the update is prepared");
        ++votes_seen_;
        confirmed_ = true;
        return absl::OkStatus();
      case TaskKind::kApply:
        return Apply(task);
      case TaskKind::kGather:
        return Gather(task);
      case TaskKind::kRelease:
        if (gathered_.erase(task.unit) == 0) return Refuse(task, "comes before its gather");
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status NeedValues(const Task& task) const {
    if (!shape_.values_divided) return absl::OkStatus();
    for (size_t u = 0; u < shape_.unit_users.size(); ++u) {
      const std::vector<int>& users = shape_.unit_users[u];
      if (std::find(users.begin(), users.end(), task.block) == users.end()) continue;
      if (!gathered_.contains(static_cast<int>(u))) {
        return Refuse(task, absl::StrCat("comes before the gather of unit ", u));
      }
    }
    return absl::OkStatus();
  }

  bool Has(int block, int micro_batch, bool gradient) const {
    if (received_.contains({block, micro_batch, gradient})) return true;
    const auto it = done_.find({gradient ? block + 1 : block, micro_batch});
    return it != done_.end() && (gradient ? it->second.input : it->second.forward);
  }

  absl::Status Forward(const Task& task) {
    MUSTER_RETURN_IF_ERROR(NeedValues(task));
    Progress& progress = done_[{task.block, task.micro_batch}];
    if (progress.forward) return Refuse(task, "is run twice");
    if (task.block > 0 && !Has(task.block - 1, task.micro_batch, false)) {
      return Refuse(task, absl::StrCat("comes before the outputs of block ", task.block - 1));
    }
    progress.forward = true;
    most_alive_ = std::max(most_alive_, ++alive_[task.block]);
    return absl::OkStatus();
  }

  absl::Status Backward(const Task& task) {
    if (task.kind != TaskKind::kBackwardWeight) MUSTER_RETURN_IF_ERROR(NeedValues(task));
    const auto it = done_.find({task.block, task.micro_batch});
    if (it == done_.end() || !it->second.forward) return Refuse(task, "comes before its forward");
    Progress& progress = it->second;
    const bool input = task.kind != TaskKind::kBackwardWeight;
    const bool weight = task.kind != TaskKind::kBackwardInput;
    const auto block = static_cast<size_t>(task.block);
    if (!(input && weight) && !(block < shape_.can_split.size() && shape_.can_split[block])) {
      return Refuse(task, "splits the backward of a block that cannot split");
    }
    if (input && progress.input) return Refuse(task, "is run twice");
    if (weight && progress.weight) return Refuse(task, "is run twice");
    if (!input && !progress.input) return Refuse(task, "comes before its BackwardInput");
    if (input && task.block + 1 < shape_.blocks && !Has(task.block, task.micro_batch, true)) {
      return Refuse(task, absl::StrCat("comes before the backward of block ", task.block + 1));
    }
    progress.input |= input;
    progress.weight |= weight;
    if (weight) {
      ++backwards_[task.block];
      --alive_[task.block];
      for (size_t u = 0; u < shape_.unit_users.size(); ++u) {
        if (FirstUserHere(u) == task.block) reduced_.erase(static_cast<int>(u));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Reduce(const Task& task) {
    if (!reduced_.insert(task.unit).second && !shape_.gradients_divided) {
      return Refuse(task, "is run twice");
    }
    bool used = false;
    for (const int block : shape_.unit_users[task.unit]) {
      if (!forwards_.contains(block)) continue;
      used = true;
      const int last_user = LastUserHere(task.unit);
      const int begun = shape_.gradients_divided ? backwards_[last_user] : forwards_[block];
      if (backwards_[block] < begun) {
        return Refuse(task,
                      absl::StrCat("comes before the last backward of its user, block ", block));
      }
    }
    if (!used) return Refuse(task, "reduces a unit that this rank does not use");
    return absl::OkStatus();
  }

  absl::Status Gather(const Task& task) {
    if (!shape_.divided && !shape_.values_divided) {
      return Refuse(task, "gathers a unit that every rank holds");
    }
    if (shape_.values_divided) {
      if (votes_seen_ > 0) return Refuse(task, "gathers values that no block will use");
      if (!gathered_.insert(task.unit).second) return Refuse(task, "comes before its release");
      return absl::OkStatus();
    }
    if (!applied_.contains(task.unit)) return Refuse(task, "comes before the unit is applied");
    if (!gathered_.insert(task.unit).second) return Refuse(task, "is run twice");
    return absl::OkStatus();
  }

  absl::Status Send(const Task& task) {
    const auto it = done_.find({task.gradient ? task.block + 1 : task.block, task.micro_batch});
    if (it == done_.end() || !(task.gradient ? it->second.input : it->second.forward)) {
      return Refuse(task, "sends a tensor that is not computed yet");
    }
    return absl::OkStatus();
  }

  absl::Status NeedReduces(const Task& task) const {
    for (size_t u = 0; u < shape_.unit_users.size(); ++u) {
      if (Uses(u) && !reduced_.contains(static_cast<int>(u))) {
        return Refuse(task, absl::StrCat("comes before the reduce of unit ", u));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Apply(const Task& task) {
    if (votes_seen_ == 0 || votes_seen_ < votes_) return Refuse(task, "comes before the last vote");
    for (size_t u = 0; u < shape_.unit_users.size(); ++u) {
      if (!Uses(u) || (task.unit >= 0 && task.unit != static_cast<int>(u))) continue;
      if (shape_.values_divided && gathered_.contains(static_cast<int>(u))) {
        return Refuse(task, absl::StrCat("comes before the release of unit ", u));
      }
      if (!applied_.insert(static_cast<int>(u)).second) {
        return Refuse(task, absl::StrCat("applies unit ", u, " twice"));
      }
    }
    return absl::OkStatus();
  }

  // Return the first and the last user of a unit that this rank runs; -1 without any.
  int FirstUserHere(size_t unit) const {
    for (const int block : shape_.unit_users[unit]) {
      if (forwards_.contains(block)) return block;
    }
    return -1;
  }
  int LastUserHere(size_t unit) const {
    int last = -1;
    for (const int block : shape_.unit_users[unit]) {
      if (forwards_.contains(block)) last = block;
    }
    return last;
  }
  bool Uses(size_t unit) const {
    return std::any_of(shape_.unit_users[unit].begin(), shape_.unit_users[unit].end(),
                       [&](int block) { return forwards_.contains(block); });
  }
  bool applies_done() const {
    for (size_t u = 0; u < shape_.unit_users.size(); ++u) {
      if (Uses(u) && !applied_.contains(static_cast<int>(u))) return false;
    }
    return true;
  }

  absl::Status CheckEnd() const {
    const auto refuse = [&](std::string why) {
      return absl::InvalidArgumentError(absl::StrCat("task table of rank ", rank_, ": ", why));
    };
    if (forwards_.empty()) return refuse("runs no block");
    for (const auto& [place, progress] : done_) {
      if (!progress.input || !progress.weight) {
        return refuse(absl::StrCat("block ", place.first,
                                   " runs no complete backward of micro-batch ", place.second));
      }
    }
    if (votes_ == 0) return refuse("there is no vote");
    if (shape_.optimizer_prepares && !confirmed_) {
      return refuse("the update is not prepared and confirmed");
    }
    if (!applies_done()) return refuse("not every unit is applied");
    if (shape_.divided && !shape_.values_divided && gathered_ != applied_) {
      return refuse("not every unit is gathered");
    }
    return absl::OkStatus();
  }

  const TableShape& shape_;
  const int rank_, ranks_;
  const TaskTable& table_;
  std::map<int, int> forwards_;  // in the whole table, by block
  std::map<int, int> backwards_, alive_;
  std::map<Place, Progress> done_;
  std::set<std::tuple<int, int, bool>> received_;
  std::set<int> reduced_, applied_, gathered_;
  bool prepared_ = false, confirmed_ = false;
  int votes_ = 0, votes_seen_ = 0, most_alive_ = 0;
};

}  // namespace

absl::StatusOr<TableReport> CheckTables(const TableShape& shape,
                                        const std::vector<TaskTable>& ranks) {
  TableReport report;
  for (size_t r = 0; r < ranks.size(); ++r) {
    RankCheck check(shape, static_cast<int>(r), static_cast<int>(ranks.size()), ranks[r]);
    MUSTER_RETURN_IF_ERROR(check.Run());
    report.most_alive = std::max(report.most_alive, check.most_alive());
  }
  MUSTER_ASSIGN_OR_RETURN(report.bubble, RunTables(ranks));
  MUSTER_RETURN_IF_ERROR(CheckCollectiveOrder(ranks, shape.cut.stages()));
  return report;
}

}  // namespace muster::trainer
