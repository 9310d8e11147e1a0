#include "operator/core/failure/fence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/core/leave/spot.h"
#include "operator/core/state/spec_values.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

// An agent's processes end at most this long after its orphanDeadline: it must notice that its
// stream is dead, then come SIGTERM and SIGKILL, and there is a margin.
constexpr absl::Duration kOrphanGrace = absl::Seconds(30);

bool IsNodeGone(const PodView& pod) {
  const bool deleted = std::any_of(pod.node_conditions.begin(), pod.node_conditions.end(),
                                   [](const ConditionView& c) { return c.reason == kNodeDeleted; });
  return deleted || std::any_of(pod.node_taints.begin(), pod.node_taints.end(),
                                [](const TaintView& t) { return t.key == kOutOfService; });
}

absl::Time LastContact(const Draft& draft, const PodView& pod) {
  for (const AgentView& agent : draft.view.agents) {
    if (agent.pod_uid != pod.uid) continue;
    return std::max({agent.last_heard, agent.attached_at, agent.detached_at});
  }
  return draft.view.leading_since;  // the last leader may have had contact until then
}

// Returns true if no leader but this one can have sent it an order.
bool IsNew(const Draft& draft, const Worker& worker) {
  const WorkerMemory* known = FindWorkerMemory(draft.plan.memory, worker.index);
  return known != nullptr && known->created == worker.incarnation;
}

// Returns true if the pod's agent obeys, now or once it attaches, and is to be in the next round.
bool ObeysHere(const Draft& draft, const PodView& pod) {
  const Worker* worker = draft.FindWorker(pod.index);
  if (worker == nullptr || worker->pod != &pod) return false;
  if (worker->ended) return true;
  if (WasToldToStop(draft.plan.memory, worker->index, worker->incarnation)) return false;
  if (pod.index >= draft.PodsWanted() || IsLeaving(draft.plan.memory, *worker)) return false;
  if (worker->presence == Presence::kStarting)
    return worker->agent != nullptr || IsNew(draft, *worker);
  return worker->presence == Presence::kPresent || worker->presence == Presence::kUnknown;
}

}  // namespace

absl::Time EndIsConfirmedAt(const Draft& draft, const PodView& pod) {
  const absl::Duration deadline = OrphanDeadline(draft.spec(), draft.options.orphan_deadline);
  return LastContact(draft, pod) + deadline + kOrphanGrace;
}

bool IsProvenStopped(const Draft& draft, const PodView& pod) {
  if (draft.spec().has_trainer()) return true;
  // No command starts before its agent has attached, and a Pending pod's agent has not.
  if (pod.phase != PodPhase::kRunning && pod.phase != PodPhase::kUnknown) return true;
  if (pod.exit_code || IsNodeGone(pod)) return true;
  return std::min(draft.view.now, draft.view.heard_until) >= EndIsConfirmedAt(draft, pod);
}

const PodView* FindPossiblyRunning(const Draft& draft) {
  if (draft.spec().has_trainer() || draft.view.status.round() == 0) return nullptr;
  for (const PodView& pod : draft.view.pods) {
    if (!IsProvenStopped(draft, pod) && !ObeysHere(draft, pod)) return &pod;
  }
  return nullptr;
}

std::string DescribeUnconfirmed(const PodView& pod) {
  return absl::StrCat(
      "the command of pod ", pod.name, " may still run on node ", pod.node,
      ": waiting until kubelet confirms its end; the job goes on by itself once the "
      "Node is deleted or tainted ",
      kOutOfService, ": do that if you are sure that the machine is off");
}

}  // namespace muster::control
