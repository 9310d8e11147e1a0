#include "operator/core/leave/spares.h"

#include <algorithm>
#include <set>

#include "operator/core/state/membership.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {

bool IsWaitingSpare(const Draft& draft, const Worker& worker) {
  const RoundMemory& memory = draft.plan.memory;
  if (WaitsForMultiple(draft, worker)) return true;
  if (draft.SparesWanted() == 0) return false;
  if (memory.members.empty()) return worker.index >= draft.WorkersWanted();
  const auto ended = std::count_if(draft.workers.begin(), draft.workers.end(),
                                   [](const Worker& other) { return other.ended; });
  if (static_cast<int>(memory.members.size()) < draft.WorkersWanted() - ended) return false;
  return MemberIndices(memory.members).count(worker.index) == 0;
}

bool WaitsForMultiple(const Draft& draft, const Worker& worker) {
  const RoundMemory& memory = draft.plan.memory;
  if (!FormsByMultiples(draft.spec()) || memory.phase != RoundPhase::kActive) return false;
  if (worker.ended || worker.index >= draft.WorkersWanted()) return false;
  return MemberIndices(memory.members).count(worker.index) == 0;
}

bool IsNewSpare(const Draft& draft, const AgentView& agent) {
  const Worker* worker = draft.FindWorker(agent.index);
  return worker != nullptr && worker->agent == &agent && agent.seen.round == 0 &&
         IsWaitingSpare(draft, *worker);
}

bool CanTakeSeat(const Draft& draft, const Worker& worker) {
  if (worker.ended || worker.presence != Presence::kPresent || worker.agent->loading) return false;
  const RoundMemory& memory = draft.plan.memory;
  return !IsToLeave(memory, worker.index, worker.incarnation) && !IsShrunk(memory, worker.index) &&
         !NeedsReplacement(memory, worker.index);
}

int ReadySpares(const Draft& draft) {
  if (draft.SparesWanted() == 0 && !FormsByMultiples(draft.spec())) return 0;
  const std::set<int> members = MemberIndices(draft.plan.memory.members);
  int ready = 0;
  for (const Worker& worker : draft.workers) {
    if (worker.index >= draft.PodsWanted() || members.count(worker.index) > 0) continue;
    ready += CanTakeSeat(draft, worker);
  }
  return ready;
}

}  // namespace muster::control
