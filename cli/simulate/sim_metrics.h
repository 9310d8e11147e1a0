#ifndef MUSTER_CLI_SIMULATE_SIM_METRICS_H_
#define MUSTER_CLI_SIMULATE_SIM_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/simulate/sim_cluster.h"
#include "cli/simulate/sim_report.h"
#include "cli/simulate/sim_trace.h"
#include "operator/placement/topology_tree.h"

namespace muster::cli {

// Accumulates the metrics of a simulation, event by event.
class SimMetrics {
 public:
  SimMetrics(const SimCluster& cluster, const control::TopologyTree& tree,
             const std::vector<SimJob>& jobs);

  // Accounts for the time from the last call until `now`, in which nothing changed.
  void Advance(absl::Time now);

  void Submitted(const SimJob& job) { ++waiting_[QueueOf(job)]; }
  void Waits(const SimJob& job) { ++waiting_[QueueOf(job)]; }
  void Started(const SimJob& job, absl::Time now, bool first);
  // Records a change of the job's number of workers by `workers`, after the tree was charged.
  void Used(const SimJob& job, int64_t workers, const std::vector<int>& nodes);
  void Finished(absl::Time now);

  // Records the usage from `now` on.
  void Mark(absl::Time now);
  void Fill(SimReport& report);

 private:
  size_t QueueOf(const SimJob& job) const;
  int64_t AmountIn(const control::Resources& amount) const;

  const control::TopologyTree& tree_;
  const bool gpus_;
  absl::Time start_;
  absl::Time last_;
  absl::Time last_end_;
  int64_t capacity_ = 0;
  int64_t free_ = 0;
  int64_t fragmented_ = 0;  // free on partly used nodes
  std::vector<int64_t> node_fragmented_;
  std::vector<int64_t> node_free_;
  std::map<std::string, size_t> queue_index_;
  std::vector<std::string> queues_;
  std::vector<double> weights_;
  std::vector<int64_t> used_;
  std::vector<int64_t> waiting_;
  double used_seconds_ = 0;
  double fragmentation_sum_ = 0;
  double fragmentation_seconds_ = 0;
  std::vector<double> served_;          // by queue, while jobs of it waited
  std::vector<double> waited_seconds_;  // by queue
  std::map<std::string, std::vector<double>> waits_;
  std::vector<OccupancyPoint> occupancy_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_SIM_METRICS_H_
