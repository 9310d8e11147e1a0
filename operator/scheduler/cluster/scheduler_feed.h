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

// Collects what the caches have shown since the last cycle, the newest version of each object. A
// pod whose owner is not the job of its own namespace that its label names is passed on without an
// owner, as a pod that only takes room. Thread-safe; Take() has one caller.
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
  // A pod that was found to be a worker of a job. It stays one after the job is gone.
  struct Worker {
    std::string pod_uid;
    std::string job_uid;
    kube::ObjectKey job;
  };

  // Settles whose workers the changed pods are, and adds their jobs to those that changed.
  void Attribute(Changes& changes);

  const JobCache& jobs_;
  std::map<kube::ObjectKey, Worker> workers_;                // by pod
  std::map<kube::ObjectKey, PodCache::Object> without_job_;  // their job may come later
  Mutex mu_;
  Changes changes_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_CLUSTER_SCHEDULER_FEED_H_
