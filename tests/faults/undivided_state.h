#ifndef MUSTER_TESTS_FAULTS_UNDIVIDED_STATE_H_
#define MUSTER_TESTS_FAULTS_UNDIVIDED_STATE_H_

#include "tests/integration/local_run.h"

namespace muster::tests {

// Expects that the run succeeds with the state, tensor by tensor, of an undisturbed run of that
// many steps whose ranks do not divide it, whatever files of its last checkpoint hold the parts.
// That run is trained once per process.
void ExpectUndividedState(LocalRun& run, int steps);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_UNDIVIDED_STATE_H_
