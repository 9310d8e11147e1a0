#ifndef MUSTER_OPERATOR_RUNTIME_SCHEDULER_H_
#define MUSTER_OPERATOR_RUNTIME_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "operator/api/training_job.h"
#include "operator/core/view.h"
#include "operator/kube/api.h"
#include "operator/kube/cache.h"
#include "operator/placement/placement.h"
#include "operator/runtime/object_records.h"

namespace muster::control {

using JobCache = kube::Cache<TrainingJob>;
using PodCache = kube::Cache<PodRecord>;
using NodeCache = kube::Cache<NodeRecord>;

inline constexpr char kSchedulerName[] = "muster";

// The scheduling cycle: groups the unbound pods of each job into a gang, places it on a snapshot of
// the nodes less everything that runs there, and binds all of it or nothing. What it has bound is
// held against the inventory until the cache shows it, so no slot is promised twice. A bind that
// fails after others succeeded leaves those bound; the rest is placed again in the next cycle.
// RunOnce is for one thread; Verdict is thread-safe.
class Scheduler {
 public:
  // `on_verdict` gets the key of a job whose verdict changed.
  Scheduler(kube::Api& api, const JobCache& jobs, const PodCache& pods, const NodeCache& nodes,
            std::function<void(const std::string& job_key)> on_verdict);

  // One cycle over everything unbound. Returns the number of pods bound.
  int RunOnce();

  // Why the job's pods wait; empty when they do not, or have not been looked at.
  PlacementView Verdict(const std::string& job_uid) const;
  int64_t binds() const;

 private:
  struct Gang {
    JobCache::Object job;
    std::vector<PodCache::Object> unbound;  // by worker index
    int bound = 0;
  };

  std::map<std::string, Gang> CollectGangs() const;
  void TakeInventory();
  Inventory InventoryFor(const Gang& gang) const;
  void Charge(const std::string& node, const Resources& requests);
  int Schedule(const Gang& gang);
  int BindAll(const Gang& gang, const std::vector<std::string>& nodes);
  void Refuse(const Gang& gang, const std::string& sentence);
  void SetVerdict(const TrainingJob& job, PlacementView verdict);
  void ForgetSettled();

  kube::Api& api_;
  const JobCache& jobs_;
  const PodCache& pods_;
  const NodeCache& nodes_;
  const std::function<void(const std::string&)> on_verdict_;
  // Pods bound by us that the cache does not show yet: uid -> node and key.
  struct Assumed {
    std::string node;
    kube::ObjectKey key;
    Resources requests;
  };
  std::map<std::string, Assumed> assumed_;
  // Of the cycle under way: what is free on each node of node_records_, and where a node stands.
  Inventory free_;
  std::vector<NodeCache::Object> node_records_;
  std::map<std::string, size_t> free_at_;

  mutable Mutex mu_;
  std::map<std::string, PlacementView> verdicts_ MUSTER_GUARDED_BY(mu_);  // by job UID
  int64_t binds_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_SCHEDULER_H_
