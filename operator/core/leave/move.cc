#include "operator/core/leave/move.h"

#include <algorithm>

namespace muster::control {
namespace {

constexpr absl::Duration kFindsAnotherWithin = absl::Minutes(1);

}  // namespace

void MoveAway(Draft& draft, const Worker& worker, absl::string_view why) {
  draft.memory().workers[worker.index].move = {
      .incarnation = worker.incarnation, .why = std::string(why), .node = worker.pod->node};
}

std::string WhyMoves(const RoundMemory& memory, const Worker& worker) {
  const WorkerMemory* known = FindWorkerMemory(memory, worker.index);
  const bool moves = known != nullptr && known->move.incarnation == worker.incarnation;
  return moves ? known->move.why : "";
}

std::string AvoidedNode(const RoundMemory& memory, int index) {
  const WorkerMemory* known = FindWorkerMemory(memory, index);
  return known == nullptr ? "" : known->move.node;
}

void RestoreMoves(Draft& draft) {
  RoundMemory& memory = draft.memory();
  for (const PodView& pod : draft.view.pods) {
    if (pod.avoided_node.empty()) continue;
    memory.link_test.left_nodes.insert(pod.avoided_node);
    const Worker* worker = draft.FindWorker(pod.index);
    if (worker == nullptr || worker->incarnation != pod.incarnation) continue;
    MoveMemory& move = memory.workers[pod.index].move;
    if (move.node.empty()) move = {.node = pod.avoided_node, .restored_at = draft.view.now};
  }
}

bool GivesUpAvoiding(Draft& draft, const Worker& worker) {
  WorkerMemory& known = draft.memory().workers[worker.index];
  const bool searches = !known.move.node.empty() && known.move.incarnation != worker.incarnation &&
                        worker.pod != nullptr && worker.pod->node.empty();
  if (!searches || known.move.for_good) return false;
  const absl::Time until = std::max(known.visible_by, known.move.restored_at) + kFindsAnotherWithin;
  if (draft.view.now < until) {
    draft.RequeueAt(until);
    return false;
  }
  known.move = {};
  return true;
}

}  // namespace muster::control
