#ifndef MUSTER_OPERATOR_QUEUE_QUEUE_FIXTURES_H_
#define MUSTER_OPERATOR_QUEUE_QUEUE_FIXTURES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/inventory.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_spec.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/schedule.h"

// A small cluster with queues, for tests: time is seconds since the epoch.
namespace muster::control::fixtures {

inline constexpr char kGpu[] = "nvidia.com/gpu";

inline absl::Time At(double seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

// Nodes "r0-n0", … of `gpus` each, under one level "rack".
Inventory Racks(int racks, int nodes, int gpus = 8);

QueueSpec Queue(const std::string& name, const std::string& parent, int64_t nominal_gpus);
// `workers` of `gpus` each; endless unless `runtime` is more than 0.
QueuedJob Job(const std::string& uid, const std::string& queue, int workers, int gpus = 8,
              double runtime = 0, double created = 0);

// A cluster with its queues, in which Schedule's decisions come true.
class World {
 public:
  World(const Inventory& inventory, const std::vector<QueueSpec>& queues,
        const BookOptions& options = {});

  void Submit(const QueuedJob& job) { book.Upsert(now, job); }
  // Ends the job and frees its nodes.
  void Finish(const std::string& uid);
  // Lets all leaving workers go: stopped jobs wait again.
  void LetLeaversGo();
  std::vector<Decision> Cycle();

  bool Runs(const std::string& uid) const;
  int Workers(const std::string& uid) const;
  // Returns the last cycle's decision on the job, or one with an empty `job`.
  Decision Of(const std::string& uid) const;

  absl::Time now = At(0);
  TopologyTree tree;
  QueueBook book;
  ScheduleOptions options;
  std::vector<Decision> last;

 private:
  void Free(const QueuedJob& job, int from);
};

}  // namespace muster::control::fixtures

#endif  // MUSTER_OPERATOR_QUEUE_QUEUE_FIXTURES_H_
