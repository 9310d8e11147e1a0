#ifndef MUSTER_CLI_SIMULATE_SIM_CLUSTER_H_
#define MUSTER_CLI_SIMULATE_SIM_CLUSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "operator/placement/inventory.h"
#include "operator/placement/label_map.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_spec.h"
#include "operator/queue/schedule.h"

namespace muster::cli {

// Resources that quotas count, named as in a pod's requests.
inline constexpr char kGpuResource[] = "nvidia.com/gpu";
inline constexpr char kCpuResource[] = "cpu";
inline constexpr char kMemoryResource[] = "memory";

// The largest counts that a file may request.
inline constexpr int64_t kMostSimNodes = 100'000;
inline constexpr int64_t kMostGpusOfNode = 1'000;
inline constexpr int64_t kMostPodsOfNode = 100'000;

// The imaginary cluster that a workload runs on.
struct SimCluster {
  control::Inventory inventory;
  std::vector<control::LabelMap> labels;  // of each node of the inventory, as the file has them
  control::Amounts capacity;
  std::vector<control::QueueSpec> queues;
  std::vector<Json> queue_objects;  // the same as TrainingQueues
  control::BookOptions book;
  control::ScheduleOptions schedule;
  // The time from the order to stop until the nodes are free, in which a checkpoint is saved.
  absl::Duration stop = absl::Seconds(30);
  // The time from the new placement until training continues.
  absl::Duration restart = absl::Minutes(1);
};

// Parses a cluster file: nodes in pools, TrainingQueues, and options; docs/queues.md describes it.
// InvalidArgument names the file, the field and the problem.
absl::StatusOr<SimCluster> ParseCluster(absl::string_view yaml, absl::string_view file);

// Sums up the nodes' allocatable resources.
control::Amounts CapacityOf(const control::Inventory& inventory);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_SIM_CLUSTER_H_
