#ifndef MUSTER_OPERATOR_CORE_TESTING_TEST_WORLD_H_
#define MUSTER_OPERATOR_CORE_TESTING_TEST_WORLD_H_

#include <string>

#include "absl/time/time.h"
#include "operator/core/decide.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/view.h"

// A view built by hand, for tests of one policy: a job with `count` workers of one rank each.
namespace muster::control {

struct TestWorld {
  explicit TestWorld(int count = 2);

  // AddPod() and AddAgent() add the pod and the attached agent of `index`, at the incarnation that
  // the status records.
  PodView& AddPod(int index, PodPhase phase = PodPhase::kRunning);
  AgentView& AddAgent(int index);
  void AddWorkers();
  // Lets every agent answer the orders of the round that is being opened. The round is Active after
  // the next Decide().
  void JoinRound();
  // Makes round 1 of term 1 Active with every worker.
  void MakeActive();

  // Decides and keeps the new status and memory, as after a successful write.
  Plan Decide();
  void Advance(absl::Duration by);
  std::string Condition(ConditionType type) const;  // "True/Reason"

  JobView view;
  RoundMemory memory;
  DecideOptions options;
};

// Returns a worker's answer to Go: it joined the round, by the round's spec.
JoinedReport Joined(const RoundMemory& memory);

// Return the reasons of the plan's events, and its orders as "Prepare:0 Prepare:1 Stop:1".
std::string EventReasons(const Plan& plan);
std::string OrderTexts(const Plan& plan);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TESTING_TEST_WORLD_H_
