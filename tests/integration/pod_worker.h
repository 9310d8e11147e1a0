#ifndef MUSTER_TESTS_INTEGRATION_POD_WORKER_H_
#define MUSTER_TESTS_INTEGRATION_POD_WORKER_H_

#include <map>
#include <string>

#include "base/json.h"
#include "proto/muster/v1alpha1/round.pb.h"

// Reads a worker's pod as its agent would: what the operator tells an agent is in the environment
// of the container `worker`. For tests that play agents without processes.
namespace muster::control {

// Returns the variables with their values; a reference to the pod's own UID is resolved.
std::map<std::string, std::string> WorkerEnvironment(const Json& pod);

// Returns the identity that the agent claims; numbers that are absent are -1.
v1alpha1::WorkerId WorkerOf(const Json& pod);

// Returns the number of ranks that the agent starts; -1 if the pod does not say.
int RanksOf(const Json& pod);

}  // namespace muster::control

#endif  // MUSTER_TESTS_INTEGRATION_POD_WORKER_H_
