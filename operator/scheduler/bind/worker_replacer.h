#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_WORKER_REPLACER_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_WORKER_REPLACER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "operator/objects/verdicts.h"
#include "operator/scheduler/bind/placement_publisher.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/queue_sync/queue_sync.h"

namespace muster::control {

// Places the pods without a node of running jobs: replacements of lost workers go near the others
// before any job gets its turn; pods that the job would grow by wait for the queue, and the reason
// is reported. Everything in World must outlive this. Not thread-safe.
class WorkerReplacer {
 public:
  struct World {
    ClusterModel& model;
    QueueSync& book;
    const Verdicts& verdicts;
    BindTracker& writes;
    PlacementPublisher& publisher;
  };

  explicit WorkerReplacer(const World& world) : world_(world) {}

  // Places replacements, those of the oldest job first.
  void Replace();
  void ReportPendingGrowth();
  // Drops the state of gangs that are gone.
  void Forget();

 private:
  // The result of the last look at a gang, and its inputs: equal inputs give the same result.
  struct Look {
    uint64_t changes = 0;
    uint64_t version = 0;
    int64_t generation = 0;
    std::string refusal;

    bool IsOf(const ClusterModel& model, const Gang& gang, const QueueJobState& standing) const {
      return changes == model.changes() && version == gang.version &&
             generation == standing.generation;
    }
  };

  std::vector<std::string> RunningWithoutNodes() const;
  Look LookAt(const Gang& gang, const QueueJobState& standing) const {
    return {world_.model.changes(), gang.version, standing.generation, ""};
  }
  void ReplaceOf(const std::string& uid, const QueueJobState& standing);

  const World world_;
  std::map<std::string, Look> looks_;  // by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_WORKER_REPLACER_H_
