#include "trainer/engine/table/collective_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

// The collectives of some kinds, each named by its kind and unit and by how often a rank has run it
// before, and the pairs of them that some rank runs one right after the other.
class CollectiveOrder {
 public:
  CollectiveOrder(const std::vector<TaskTable>& ranks, int stages, std::vector<TaskKind> kinds)
      : kinds_(std::move(kinds)) {
    for (size_t r = 0; r < ranks.size(); ++r) {
      Add(ranks[r], static_cast<int>(r), static_cast<int>(r) % stages);
    }
  }

  absl::Status Check() const {
    if (unequal_) return Refuse(unequal_->first, unequal_->second);
    std::map<Node, int> incoming;
    for (const auto& [node, next] : next_) {
      for (const auto& [to, rank] : next) ++incoming[to];
    }
    // Takes away every collective that has none left before it; those that wait in a circle stay.
    std::vector<Node> free;
    for (const auto& [node, next] : next_) {
      if (!incoming.contains(node)) free.push_back(node);
    }
    size_t taken = 0;
    while (!free.empty()) {
      const Node node = free.back();
      free.pop_back();
      ++taken;
      for (const auto& [to, rank] : next_.at(node)) {
        if (--incoming[to] == 0) free.push_back(to);
      }
    }
    return taken == next_.size() ? absl::OkStatus() : RefuseCircle(incoming);
  }

 private:
  // The kind, the unit, the stage, and how often the collective came before.
  using Node = std::tuple<TaskKind, int, int, int>;
  using Collective = std::tuple<TaskKind, int, int>;  // kind, unit, stage

  void Add(const TaskTable& table, int rank, int stage) {
    std::map<Collective, int> counts;
    std::optional<Node> before;
    for (const Task& task : table) {
      if (std::find(kinds_.begin(), kinds_.end(), task.kind) == kinds_.end()) continue;
      const Node node = {task.kind, task.unit, stage, counts[{task.kind, task.unit, stage}]++};
      next_[node];
      if (before) next_[*before].try_emplace(node, rank);
      before = node;
    }
    for (const auto& [collective, count] : counts) {
      const auto& [first_rank, first_count] =
          counts_.try_emplace(collective, rank, count).first->second;
      if (count != first_count && !unequal_) unequal_ = {first_rank, rank};
    }
  }

  // Everything left comes after something left: going back ends in a circle.
  absl::Status RefuseCircle(const std::map<Node, int>& incoming) const {
    std::map<Node, std::pair<Node, int>> back;
    for (const auto& [node, next] : next_) {
      const auto left = incoming.find(node);
      if (left == incoming.end() || left->second == 0) continue;
      for (const auto& [to, rank] : next) back.try_emplace(to, node, rank);
    }
    Node at = back.begin()->first;
    for (size_t i = 0; i < back.size(); ++i) at = back.at(at).first;
    std::set<int> ranks;
    const Node begin = at;
    do {
      ranks.insert(back.at(at).second);
      at = back.at(at).first;
    } while (at != begin);
    return Refuse(*ranks.begin(), *ranks.rbegin());
  }

  absl::Status Refuse(int a, int b) const {
    return absl::InvalidArgumentError(absl::StrCat("task tables: ranks ", a, " and ", b,
                                                   " run the ", Names(),
                                                   " of their units in different orders"));
  }

  std::string Names() const {
    return absl::StrJoin(kinds_, " and ", [](std::string* out, TaskKind kind) {
      absl::StrAppend(out, std::string(Name(kind)), "s");
    });
  }

  const std::vector<TaskKind> kinds_;
  // The collectives that some rank runs right after each, with one such rank.
  std::map<Node, std::map<Node, int>> next_;
  // The first rank that runs each, and how often it does.
  std::map<Collective, std::pair<int, int>> counts_;
  std::optional<std::pair<int, int>> unequal_;  // two ranks that run a unit's unequally often
};

}  // namespace

absl::Status CheckCollectiveOrder(const std::vector<TaskTable>& ranks, int stages) {
  for (const TaskKind kind : {TaskKind::kReduce, TaskKind::kGather}) {
    MUSTER_RETURN_IF_ERROR(CollectiveOrder(ranks, stages, {kind}).Check());
  }
  return CollectiveOrder(ranks, stages, {TaskKind::kReduce, TaskKind::kGather}).Check();
}

}  // namespace muster::trainer
