#ifndef MUSTER_OPERATOR_SCHEDULER_CLUSTER_SCHEDULER_FEED_H_
#define MUSTER_OPERATOR_SCHEDULER_CLUSTER_SCHEDULER_FEED_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "operator/api/training_queue.h"
#include "operator/objects/caches.h"
#include "operator/objects/priority_class.h"
#include "operator/placement/cluster/cluster_snapshot.h"

namespace muster::control {

using QueueCache = kube::Cache<TrainingQueue>;

// Collects what the caches have shown since the last cycle, the newest version of each object.
// Thread-safe.
class SchedulerFeed {
 public:
  struct Changes {
    // Changes of namespaces and storage, in order; to be applied first.
    std::vector<std::function<void(ClusterSnapshot&)>> cluster;
    std::map<kube::ObjectKey, PodCache::Object> pods;  // null: gone
    std::map<std::string, NodeCache::Object> nodes;    // null: gone
    std::map<std::string, kube::ObjectKey> jobs;       // by UID: the job or its pods changed
    bool queues = false;
    bool priorities = false;
  };

  SchedulerFeed(JobCache& jobs, PodCache& pods, NodeCache& nodes);
  // Calls `wake` when one of these caches has changed, with no lock held.
  void Follow(QueueCache& queues, PriorityCache& priorities, std::function<void()> wake);

  void Change(std::function<void(ClusterSnapshot&)> change);
  Changes Take();

 private:
  Mutex mu_;
  Changes changes_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_CLUSTER_SCHEDULER_FEED_H_
