#include "operator/scheduler/cluster/scheduler_feed.h"

#include <utility>

namespace muster::control {

SchedulerFeed::SchedulerFeed(JobCache& jobs, PodCache& pods, NodeCache& nodes) {
  jobs.OnChange([this](const kube::ObjectKey& key, const auto& before, const auto& after) {
    MutexLock lock(mu_);
    for (const JobCache::Object& job : {before, after}) {
      if (job != nullptr) changes_.jobs[job->uid] = key;
    }
  });
  pods.OnChange([this](const kube::ObjectKey& key, const auto& before, const auto& after) {
    MutexLock lock(mu_);
    changes_.pods[key] = after;
    for (const PodCache::Object& pod : {before, after}) {
      if (pod == nullptr || pod->job.empty() || pod->view->owner_uid.empty()) continue;
      changes_.jobs[pod->view->owner_uid] = {key.name_space, pod->job};
    }
  });
  nodes.OnChange([this](const kube::ObjectKey& key, const auto&, const NodeCache::Object& after) {
    MutexLock lock(mu_);
    changes_.nodes[key.name] = after;
  });
}

void SchedulerFeed::Follow(QueueCache& queues, PriorityCache& priorities,
                           std::function<void()> wake) {
  queues.OnChange([this, wake](const kube::ObjectKey&, const QueueCache::Object& before,
                               const QueueCache::Object& after) {
    // A change of the status alone is not news.
    const bool same = before != nullptr && after != nullptr &&
                      before->generation == after->generation && before->uid == after->uid;
    if (same) return;
    {
      MutexLock lock(mu_);
      changes_.queues = true;
    }
    wake();
  });
  priorities.OnChange([this, wake](const kube::ObjectKey&, const auto&, const auto&) {
    {
      MutexLock lock(mu_);
      changes_.priorities = true;
    }
    wake();
  });
}

void SchedulerFeed::Change(std::function<void(ClusterSnapshot&)> change) {
  MutexLock lock(mu_);
  changes_.cluster.push_back(std::move(change));
}

SchedulerFeed::Changes SchedulerFeed::Take() {
  MutexLock lock(mu_);
  return std::exchange(changes_, {});
}

}  // namespace muster::control
