#include "operator/core/saves/replicas.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "operator/core/saves/replica_ring.h"
#include "proto/muster/v1alpha1/memory_copies.h"

namespace muster::control {
namespace {

using v1alpha1::Member;

// Agents say where they serve shortly after they attach. Until all have, or for this long, no
// keeper is chosen: each choice of another one costs a replica.
constexpr absl::Duration kAgentsSayWithin = absl::Seconds(10);

// An agent that is away for a moment still serves.
bool Serves(const Worker* worker) {
  return worker != nullptr && worker->pod != nullptr && worker->agent != nullptr &&
         !worker->agent->replica_endpoint.empty();
}

// Returns the members that serve replicas.
std::vector<ReplicaPlace> Servers(const Draft& draft, const RoundMemory& memory) {
  std::vector<ReplicaPlace> places;
  for (const Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (!Serves(worker)) continue;
    places.push_back({worker->index, worker->pod->node, worker->pod->node_domains});
  }
  return places;
}

}  // namespace

void KeepReplicas(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.phase != RoundPhase::kActive) return;
  std::map<int, int> keepers;
  if (WantsReplicas(memory.spec != nullptr ? *memory.spec : draft.spec())) {
    std::vector<ReplicaPlace> servers = Servers(draft, memory);
    const absl::Time settled = memory.phase_since + kAgentsSayWithin;
    if (servers.size() < memory.members.size() && draft.view.now < settled) {
      return draft.RequeueAt(settled);
    }
    keepers = ReplicaRing(std::move(servers));
  }
  if (keepers.empty() && memory.replicate.empty()) return;
  for (const Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->agent == nullptr || !worker->agent->attached) continue;
    ReplicateMemory order{.round = memory.id, .session = worker->agent->session};
    ReplicateOrder what{memory.id, std::nullopt};
    if (const auto keeper = keepers.find(worker->index); keeper != keepers.end()) {
      order.peer = keeper->second;
      order.endpoint = draft.FindWorker(keeper->second)->agent->replica_endpoint;
      what.to = ReplicaSite{order.peer, order.endpoint};
    }
    ReplicateMemory& last = memory.replicate[worker->index];
    if (last == order) continue;
    last = std::move(order);
    draft.Send(*worker, std::move(what));
  }
}

std::vector<ReplicaSite> ReplicasOf(const Draft& draft, int index) {
  std::vector<ReplicaSite> sites;
  for (const Worker& worker : draft.workers) {
    if (worker.index == index || !Serves(&worker) || !worker.agent->attached) continue;
    const std::vector<int>& kept = worker.agent->replicas_of;
    if (std::count(kept.begin(), kept.end(), index) == 0) continue;
    sites.push_back({worker.index, worker.agent->replica_endpoint});
  }
  return sites;
}

}  // namespace muster::control
