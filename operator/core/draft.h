#ifndef MUSTER_OPERATOR_CORE_DRAFT_H_
#define MUSTER_OPERATOR_CORE_DRAFT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/core/conditions.h"
#include "operator/core/options.h"
#include "operator/core/plan.h"
#include "operator/core/round_memory.h"
#include "operator/core/view.h"
#include "operator/core/workers.h"

namespace muster::control {

// A plan in the making: what the policies read and write, one after the other. `view` is as
// observed; plan.status and plan.memory are as they shall be. Not thread-safe; lives for one
// Decide().
class Draft {
 public:
  Draft(const JobView& view, const RoundMemory& memory, const DecideOptions& options);

  const JobView& view;
  const DecideOptions& options;
  Plan plan;
  // By index, as observed: every index that has an incarnation.
  std::vector<Worker> workers;
  // Set by a policy after which no other may act; `summary` still runs.
  bool done = false;

  v1alpha1::TrainingJobStatus& status() { return plan.status; }
  RoundMemory& memory() { return plan.memory; }
  const v1alpha1::TrainingJobSpec& spec() const { return view.spec; }
  // workers.count, or fewer while the queue says so.
  int WorkersWanted() const;
  // How many of those have a pod on a node, or need none any more.
  int WorkersBound() const;
  // The worker of `index`, or null when it never had an incarnation.
  const Worker* FindWorker(int index) const;

  void Say(Reason reason, std::string sentence);
  void Condition(ConditionType type, bool value, Reason reason, absl::string_view message);
  void Normal(Reason reason, std::string message);
  void Warning(Reason reason, std::string message);
  // The earliest of all wishes wins.
  void RequeueAt(absl::Time when);

  // An order to the agent of `worker`, which must be attached.
  template <typename What>
  void Send(const Worker& worker, What what) {
    plan.orders.push_back(
        {worker.index, worker.incarnation, worker.agent->pod_uid, std::move(what)});
  }
  // Once per pod, with its uid; nothing when it is on its way out already.
  void Delete(const PodView& pod, absl::Duration grace, std::string reason);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_DRAFT_H_
