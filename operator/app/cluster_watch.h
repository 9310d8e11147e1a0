#ifndef MUSTER_OPERATOR_APP_CLUSTER_WATCH_H_
#define MUSTER_OPERATOR_APP_CLUSTER_WATCH_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operator/app/storage_watch.h"
#include "operator/kube/api.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/resource_type.h"
#include "operator/objects/caches.h"
#include "operator/objects/pod_sharing.h"
#include "operator/objects/priority_class.h"
#include "operator/scheduler/queue_sync/queue_status.h"

namespace muster::control {

// One replica's view of the cluster, whether it leads or not: a cache and a reflector for each type
// of object, and callbacks to those concerned by a change. It writes nothing and decides nothing.
//
// Owns caches and reflectors; the objects they return stay valid for as long as they are held. The
// API, the clock and the followers must outlive it. Follow is called once, before the first
// reflector runs. Each reflector is used by one thread, which also calls the followers; the rest is
// thread-safe. Times are monotonic.
class ClusterWatch {
 public:
  struct Options {
    // Watches only jobs of this namespace; empty: of all.
    std::string namespace_scope;
    // Spreads the retries of lists and watches over time, in [0, 1); thread-safe. Empty: no spread.
    std::function<double()> jitter;
  };
  struct Followers {
    std::function<void(const std::string& job_key)> job;  // the job may need a new decision
    std::function<void()> placement;                      // a job that did not fit may fit now
    StorageWatch::Tell storage;
  };
  // The newest failure of a list or watch; OK if there was none.
  struct ListFailure {
    absl::Time at = absl::InfinitePast();
    absl::Status status;
  };

  ClusterWatch(kube::Api& api, const Clock& clock, Options options);
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  // Called after all mirrors of a cache have added their handlers, so that a follower that is woken
  // finds the mirrors as new as the change.
  void Follow(Followers followers);

  // The reflectors of jobs, pods and nodes, then of the other types that decide about nodes.
  std::vector<kube::Reflector*> reflectors();
  // The reflectors of queues and priority classes. If the cluster does not serve a type, or forbids
  // reading it, there are no objects of it; nothing else waits for these lists.
  std::vector<kube::Reflector*> side_reflectors() {
    return {&queues_reflector_, &priorities_reflector_};
  }
  bool HasSynced() const;
  ListFailure list_failure() const;

  // Requests lists that begin at `when` or later: of all types but the side ones, or of pods alone.
  void ListAfter(absl::Time when);
  bool HasListedAfter(absl::Time when);
  void ListPodsAfter(absl::Time when) { pods_reflector_.ListAfter(when); }
  bool HasListedPodsAfter(absl::Time when) const { return pods_reflector_.HasListedAfter(when); }

  JobCache& jobs() { return jobs_; }
  PodCache& pods() { return pods_; }
  NodeCache& nodes() { return nodes_; }
  QueueCache& queues() { return queues_; }
  PriorityCache& priorities() { return priorities_; }
  const JobCache& jobs() const { return jobs_; }
  const PodCache& pods() const { return pods_; }
  const NodeCache& nodes() const { return nodes_; }
  const QueueCache& queues() const { return queues_; }

 private:
  kube::ReflectorOptions Reflecting(const kube::ResourceType& type,
                                    const std::string& name_space = "");
  kube::ReflectorOptions ReflectingSide(const kube::ResourceType& type, std::atomic<bool>& absent);
  void FollowJobs();
  void FollowPods();
  void FollowNodes();

  const Clock& clock_;
  const Options options_;
  Followers followers_;  // constant after Follow

  JobCache jobs_;
  PodSharing pod_sharing_;  // used by the thread of the pods' reflector
  PodCache pods_;
  NodeCache nodes_;
  QueueCache queues_;
  PriorityCache priorities_;
  std::atomic<bool> queues_absent_{false};
  std::atomic<bool> priorities_absent_{false};
  kube::Reflector jobs_reflector_;
  kube::Reflector pods_reflector_;
  kube::Reflector nodes_reflector_;
  StorageWatch storage_;
  kube::Reflector queues_reflector_;
  kube::Reflector priorities_reflector_;

  mutable Mutex mu_;
  ListFailure list_failure_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_CLUSTER_WATCH_H_
