#ifndef MUSTER_TESTS_FAULTS_UNDIVIDED_STATE_H_
#define MUSTER_TESTS_FAULTS_UNDIVIDED_STATE_H_

#include <functional>
#include <string>

#include "base/files/files.h"
#include "tests/integration/local_run.h"

namespace muster::tests {

// Expects that the run succeeds with the state, tensor by tensor, of an undisturbed run of that
// many steps whose ranks do not divide it, whatever files of its last checkpoint hold the parts.
// That run is trained once per process.
void ExpectUndividedState(LocalRun& run, int steps);
// The same for a run whose last checkpoint is the directory `checkpoint` of `files`, which is named
// once the run has ended.
void ExpectUndividedState(LocalRun& run, int steps, Files& files,
                          const std::function<std::string()>& checkpoint);

// Expects that the run succeeds with the state of `undisturbed`, another run of that many steps.
void ExpectStateOf(LocalRun& undisturbed, LocalRun& run, int steps);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_UNDIVIDED_STATE_H_
