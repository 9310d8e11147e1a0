#ifndef MUSTER_TESTS_INTEGRATION_POD_WORKER_H_
#define MUSTER_TESTS_INTEGRATION_POD_WORKER_H_

#include <map>
#include <string>

#include "base/json.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::control {

// The settings of a worker's agent, which the operator passes in the environment of the container
// `worker` of its pod.
struct PodWorker {
  // The variables with their values; a reference to the pod's own UID is resolved.
  std::map<std::string, std::string> env;
  v1alpha1::WorkerId id;  // the identity that the agent claims; an absent number is -1
  int ranks = -1;         // the number of ranks that the agent starts; -1: the pod does not say
};

// Reads a pod as its agent would, for tests that play agents without processes.
PodWorker ReadPodWorker(const Json& pod);

}  // namespace muster::control

#endif  // MUSTER_TESTS_INTEGRATION_POD_WORKER_H_
