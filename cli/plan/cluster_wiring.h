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
  // The fewest that a node with GPUs has.
  int32_t of_node = 0;
  // The product that all nodes with GPUs name by the label nvidia.com/gpu.product; empty if one of
  // them names none.
  std::string product;
  planner::Wiring wiring;
};

// A node's GPUs are linked, and those of a domain of a level whose name has "nvlink" in it. The
// narrowest other level is that of leaf switches. InvalidArgument for a cluster without GPUs, and
// for one with several products, whose ranks would wait for the slowest.
absl::StatusOr<ClusterGpus> GpusOf(const SimCluster& cluster);

}  // namespace muster::cli

#endif  // MUSTER_CLI_PLAN_CLUSTER_WIRING_H_
