#include "operator/core/state/workers.h"

#include <algorithm>
#include <set>
#include <vector>

#include "operator/core/state/index_ranges.h"

namespace muster::control {
namespace {

constexpr absl::Duration kNoWait = absl::ZeroDuration();
// The shortest wait while agents' messages are not being read, however little of a window is left.
constexpr absl::Duration kShortestWait = absl::Milliseconds(100);

bool IsOnUnreadyNode(const PodView& pod) {
  return std::any_of(
      pod.node_conditions.begin(), pod.node_conditions.end(),
      [](const ConditionView& c) { return c.type == "Ready" && c.status != "True"; });
}

void SetPresence(const JobView& view, const RoundMemory& memory, const DecideOptions& options,
                 Worker& worker) {
  const PodView* pod = worker.pod;
  if (pod == nullptr) return;
  if (WorkerHasEnded(*pod) || pod->deleting) {
    worker.presence = Presence::kGone;
    return;
  }
  const auto until_at = [&](absl::Time now, absl::Time when, Presence before, Presence after) {
    worker.presence = now < when ? before : after;
    if (now >= when) return;
    worker.recheck = view.now + std::max(when - now, now < view.now ? kShortestWait : kNoWait);
  };
  // Only time in which messages were read counts as an agent's silence.
  const absl::Time listened = std::min(view.now, view.heard_until);
  const auto unheard = [&](absl::Time since, Presence before, Presence after) {
    until_at(listened, since + options.unknown_window, before, after);
  };
  const AgentView* agent = worker.agent;
  if (agent != nullptr) {
    const absl::Time heard = std::max(agent->last_heard, agent->attached_at);
    if (agent->attached && pod->node.empty()) {
      worker.presence = Presence::kStarting;
    } else if (agent->attached) {
      unheard(heard, Presence::kPresent, Presence::kSilent);
    } else {
      unheard(std::max(heard, agent->detached_at), Presence::kUnknown, Presence::kSilent);
    }
    return;
  }
  if (pod->phase != PodPhase::kRunning) {
    worker.presence = Presence::kStarting;
    return;
  }
  // After a take-over, a running pod's agent is at first unknown: it may be stepping in its round.
  unheard(view.leading_since, Presence::kUnknown, Presence::kStarting);
  if (worker.presence == Presence::kUnknown) return;
  const WorkerMemory* known = FindWorkerMemory(memory, worker.index);
  if (known == nullptr) return;
  const absl::Duration deadline =
      IsOnUnreadyNode(*pod) ? options.unready_attach_deadline : options.attach_deadline;
  until_at(view.now, known->running_since + deadline, Presence::kStarting, Presence::kSilent);
}

}  // namespace

void ObserveWorkers(const JobView& view, RoundMemory& memory) {
  const int known = view.status.incarnations_size();
  for (const PodView& pod : view.pods) {
    if (pod.index < 0 || pod.index >= known) continue;
    if (pod.incarnation != view.status.incarnations(pod.index)) continue;
    WorkerMemory& worker = memory.workers[pod.index];
    if (worker.seen != pod.incarnation) {
      worker.seen = pod.incarnation;
      worker.running_since = absl::InfinitePast();
    }
    if (pod.phase == PodPhase::kRunning && worker.running_since == absl::InfinitePast()) {
      worker.running_since = view.now;
    }
  }
  for (int index : ParseIndices(view.status.workers().told_to_stop(), known)) {
    memory.workers[index].told_to_stop = view.status.incarnations(index);
  }
}

void KeepToldToStop(const RoundMemory& memory, v1alpha1::TrainingJobStatus& status) {
  std::set<int> told;
  for (int index = 0; index < status.incarnations_size(); ++index) {
    const int incarnation = status.incarnations(index);
    if (incarnation > 0 && WasToldToStop(memory, index, incarnation)) told.insert(index);
  }
  if (!told.empty()) {
    status.mutable_workers()->set_told_to_stop(FormatIndices(told));
  } else if (status.workers().has_told_to_stop()) {
    status.mutable_workers()->clear_told_to_stop();
  }
}

std::vector<Worker> FindWorkers(const JobView& view, const RoundMemory& memory,
                                const DecideOptions& options) {
  std::vector<Worker> workers(view.status.incarnations_size());
  for (int index = 0; index < static_cast<int>(workers.size()); ++index) {
    workers[index].index = index;
    workers[index].incarnation = view.status.incarnations(index);
  }
  auto current = [&](int index, int incarnation) -> Worker* {
    if (index < 0 || index >= static_cast<int>(workers.size())) return nullptr;
    return workers[index].incarnation == incarnation ? &workers[index] : nullptr;
  };
  for (const PodView& pod : view.pods) {
    if (Worker* worker = current(pod.index, pod.incarnation)) worker->pod = &pod;
  }
  for (const AgentView& agent : view.agents) {
    Worker* worker = current(agent.index, agent.incarnation);
    if (worker == nullptr || worker->pod == nullptr) continue;
    if (agent.pod_uid == worker->pod->uid) worker->agent = &agent;
  }
  const int count = static_cast<int>(workers.size());
  for (int index : ParseIndices(view.status.workers().ended(), count)) workers[index].ended = true;
  for (Worker& worker : workers) SetPresence(view, memory, options, worker);
  return workers;
}

bool WorkerHasEnded(const PodView& pod) {
  return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed || pod.exit_code;
}

bool WorkerHasFailed(const PodView& pod) {
  return pod.phase == PodPhase::kFailed || pod.exit_code.value_or(0) != 0;
}

bool IsOnNode(const Worker* worker) {
  return worker != nullptr && worker->pod != nullptr && !worker->pod->node.empty();
}

bool IsLost(Presence presence) {
  return presence == Presence::kMissing || presence == Presence::kSilent ||
         presence == Presence::kGone;
}

}  // namespace muster::control
