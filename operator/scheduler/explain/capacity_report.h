#ifndef MUSTER_OPERATOR_SCHEDULER_EXPLAIN_CAPACITY_REPORT_H_
#define MUSTER_OPERATOR_SCHEDULER_EXPLAIN_CAPACITY_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "operator/scheduler/cluster/cluster_model.h"

namespace muster::control {

// Returns the states of nodes: "Usable", or the reason that keeps every worker off a node. A closed
// list.
std::vector<std::string> NodeStates();

// The number of nodes and GPUs of the cluster by state; each counts once, except that the GPUs of
// faulty nodes do not count. Slices and shares of GPUs count as placement counts them.
struct CapacityReport {
  std::map<std::string, int64_t> nodes;  // every one of NodeStates()
  int64_t gpus_used = 0;                 // by pods of any scheduler
  int64_t gpus_free = 0;                 // on usable nodes none of whose GPUs is used
  int64_t gpus_fragmented = 0;           // free, on usable nodes some of whose GPUs are used
  int64_t gpus_closed = 0;               // free, on nodes that no worker may use
};

// Counts nodes and GPUs in O(nodes). Not thread-safe, like the model, which stays unchanged.
CapacityReport ReportCapacity(ClusterModel& model);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_EXPLAIN_CAPACITY_REPORT_H_
