#include "operator/scheduler/cluster/scheduler_feed.h"

#include <memory>
#include <utility>

namespace muster::control {

namespace {

PodCache::Object WithoutOwner(const PodRecord& pod) {
  auto copy = std::make_shared<PodRecord>(pod);
  auto view = std::make_shared<PodView>(*pod.view);
  view->owner_uid.clear();
  copy->view = std::move(view);
  return copy;
}

}  // namespace

SchedulerFeed::SchedulerFeed(JobCache& jobs, PodCache& pods, NodeCache& nodes) : jobs_(jobs) {
  jobs.OnChange([this](const kube::ObjectKey& key, const auto& before, const auto& after) {
    MutexLock lock(mu_);
    for (const JobCache::Object& job : {before, after}) {
      if (job != nullptr) changes_.jobs[job->uid] = key;
    }
  });
  pods.OnChange([this](const kube::ObjectKey& key, const auto&, const PodCache::Object& after) {
    MutexLock lock(mu_);
    changes_.pods[key] = after;
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
  Changes changes;
  {
    MutexLock lock(mu_);
    changes = std::exchange(changes_, {});
  }
  Attribute(changes);
  return changes;
}

void SchedulerFeed::Attribute(Changes& changes) {
  for (const auto& [uid, job] : changes.jobs) {
    for (auto it = without_job_.lower_bound({job.name_space, ""});
         it != without_job_.end() && it->first.name_space == job.name_space; ++it) {
      if (it->second->job == job.name) changes.pods.emplace(it->first, it->second);
    }
  }
  for (auto& [key, pod] : changes.pods) {
    without_job_.erase(key);
    const auto known = workers_.find(key);
    if (known != workers_.end()) changes.jobs.emplace(known->second.job_uid, known->second.job);
    if (pod == nullptr || pod->job.empty() || pod->view->owner_uid.empty()) {
      workers_.erase(key);
      continue;
    }
    const PodView& view = *pod->view;
    const kube::ObjectKey owner{key.name_space, pod->job};
    const bool stays = known != workers_.end() && known->second.pod_uid == view.uid &&
                       known->second.job_uid == view.owner_uid;
    const JobCache::Object job = jobs_.Get(owner);
    if (stays || (job != nullptr && job->uid == view.owner_uid)) {
      workers_[key] = {view.uid, view.owner_uid, owner};
      changes.jobs.emplace(view.owner_uid, owner);
      continue;
    }
    workers_.erase(key);
    without_job_[key] = pod;
    pod = WithoutOwner(*pod);
  }
}

}  // namespace muster::control
