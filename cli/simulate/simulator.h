#ifndef MUSTER_CLI_SIMULATE_SIMULATOR_H_
#define MUSTER_CLI_SIMULATE_SIMULATOR_H_

#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "cli/simulate/sim_cluster.h"
#include "cli/simulate/sim_report.h"
#include "cli/simulate/sim_trace.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/decision_input.h"

namespace muster::cli {

using DecisionObserver = std::function<void(absl::Time, const control::Decision&)>;
// Receives the inputs and decisions of every cycle that decided something.
using CycleObserver =
    std::function<void(control::DecisionInput, const std::vector<control::Decision>&)>;

// Runs the trace on the cluster with the operator's own Schedule, on a virtual clock: jobs arrive
// when they are submitted, train for their duration and end; stopped ones save, wait and continue
// from there, or start over if they have no checkpoints. Deterministic. `observer` sees every
// decision; `cycles` costs a copy of the cluster for each cycle that it receives.
SimReport Simulate(const SimCluster& cluster, const std::vector<SimJob>& jobs,
                   const DecisionObserver& observer = nullptr,
                   const CycleObserver& cycles = nullptr);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_SIMULATOR_H_
