#ifndef MUSTER_CLI_PLAN_CLUSTER_WIRING_H_
#define MUSTER_CLI_PLAN_CLUSTER_WIRING_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/simulate/sim_cluster.h"
#include "planner/devices.h"

namespace muster::cli {

// The GPUs of a cluster file, as the planner needs them. Pure.
struct ClusterGpus {
  int64_t count = 0;
  // The GPUs of the node that has the fewest, among nodes with GPUs.
  int32_t of_node = 0;
  // The product in the label nvidia.com/gpu.product, equal on all nodes with GPUs; empty if they
  // lack the label.
  std::string product;
  planner::Wiring wiring;
};

// Finds the GPUs of a cluster. Links join the GPUs of a node, and those of a domain if the name of
// its level contains "nvlink". The narrowest other level is taken as that of leaf switches.
// InvalidArgument for a cluster without GPUs, and for one with several products, whose ranks would
// wait for the slowest.
absl::StatusOr<ClusterGpus> GpusOf(const SimCluster& cluster);

}  // namespace muster::cli

#endif  // MUSTER_CLI_PLAN_CLUSTER_WIRING_H_
