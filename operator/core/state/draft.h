#ifndef MUSTER_OPERATOR_CORE_STATE_DRAFT_H_
#define MUSTER_OPERATOR_CORE_STATE_DRAFT_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/options.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/view.h"
#include "operator/core/state/workers.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::control {

// A plan in the making, which the policies read and write one after the other. `view` is the
// observed state; plan.status and plan.memory are the desired one. Not thread-safe; lives for one
// Decide().
class Draft {
 public:
  Draft(const JobView& view, const RoundMemory& memory, const DecideOptions& options);

  const JobView& view;
  const DecideOptions& options;
  Plan plan;
  // The workers that have an incarnation, by index, as observed.
  std::vector<Worker> workers;
  // Set by a policy after which no other may act; the last steps, such as Summarize(), still run.
  bool done = false;

  v1alpha1::TrainingJobStatus& status() { return plan.status; }
  RoundMemory& memory() { return plan.memory; }
  const v1alpha1::TrainingJobSpec& spec() const { return view.spec; }
  // Returns true until the round that the status records has been adopted or given up: its members
  // are not known yet.
  bool TakingOver() const;
  // Returns workers.count, less while the queue allows fewer, or more while it has given the job
  // more (grow.h).
  int WorkersWanted() const;
  // Returns how many spares the job may have now (keep_spares.h), beyond those.
  int SparesWanted() const;
  // Returns how many pods it is to have, which are those of the workers 0 to PodsWanted() - 1. Any
  // of them may train.
  int PodsWanted() const { return WorkersWanted() + SparesWanted(); }
  // Returns how many of the wanted workers have a pod on a node, or have ended and need none.
  int WorkersBound() const { return std::min(WorkersWanted(), WorkersBound(PodsWanted())); }
  // The same of the first `count` workers.
  int WorkersBound(int count) const;
  // Returns the worker of `index`, or null if it never had an incarnation.
  const Worker* FindWorker(int index) const;

  void SetReason(Reason reason, std::string sentence);
  void Condition(ConditionType type, bool value, Reason reason, absl::string_view message);
  void EmitNormal(Reason reason, std::string message);
  void EmitWarning(Reason reason, std::string message);
  // Several calls are allowed; the earliest time wins.
  void RequeueAt(absl::Time when);

  // Plans an order to the agent of `worker`, which must be attached.
  template <typename What>
  void Send(const Worker& worker, What what) {
    plan.orders.push_back(
        {worker.index, worker.incarnation, worker.agent->pod_uid, std::move(what)});
  }
  // Plans to delete the pod, with its uid as precondition. Does nothing if it is already being
  // deleted, or planned to be.
  void Delete(const PodView& pod, std::string reason);
};

// Returns the member's own worker, or null if another incarnation has taken its place.
const Worker* WorkerOf(const Draft& draft, const v1alpha1::Member& member);

// Plans the order to every member of the round in memory whose agent is attached. Returns their
// number.
template <typename What>
int SendToMembers(Draft& draft, const What& what) {
  int sent = 0;
  for (const v1alpha1::Member& member : draft.plan.memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->agent == nullptr || !worker->agent->attached) continue;
    draft.Send(*worker, what);
    ++sent;
  }
  return sent;
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_DRAFT_H_
