#ifndef MUSTER_TESTS_DIFFERENTIAL_LOAD_CLUSTER_H_
#define MUSTER_TESTS_DIFFERENTIAL_LOAD_CLUSTER_H_

#include "base/json.h"
#include "operator/placement/cluster/cluster_snapshot.h"

namespace muster::control {

// Loads Kubernetes objects in lists by kind ("nodes", "pods", "claims", ...) into a snapshot.
ClusterSnapshot LoadCluster(const Json& objects);

}  // namespace muster::control

#endif  // MUSTER_TESTS_DIFFERENTIAL_LOAD_CLUSTER_H_
