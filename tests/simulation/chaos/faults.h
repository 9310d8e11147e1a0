#ifndef MUSTER_TESTS_SIMULATION_CHAOS_FAULTS_H_
#define MUSTER_TESTS_SIMULATION_CHAOS_FAULTS_H_

#include <vector>

#include "tests/simulation/chaos/chaos_world.h"

namespace muster::control {

// One way in which something breaks, or in which a user gets in the way.
struct FaultKind {
  const char* name;
  // Lets it happen now, and puts off its end. Returns false if there is nothing to strike.
  bool (*strike)(ChaosWorld& chaos);
};

// Faults of operator processes and of the API server, of machines, and of workers and their jobs.
const std::vector<FaultKind>& OperatorFaults();
const std::vector<FaultKind>& MachineFaults();
const std::vector<FaultKind>& WorkerFaults();
// All of them.
std::vector<FaultKind> AllFaults();

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_CHAOS_FAULTS_H_
