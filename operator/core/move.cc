#include "operator/core/move.h"

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

bool GivesUpAvoiding(Draft& draft, const Worker& worker) {
  WorkerMemory& known = draft.memory().workers[worker.index];
  const bool searches = !known.move.node.empty() && known.move.incarnation != worker.incarnation &&
                        known.created == worker.incarnation && worker.pod != nullptr &&
                        worker.pod->node.empty();
  if (!searches) return false;
  const absl::Time until = known.visible_by + kFindsAnotherWithin;
  if (draft.view.now < until) {
    draft.RequeueAt(until);
    return false;
  }
  known.move = {};
  return true;
}

}  // namespace muster::control
