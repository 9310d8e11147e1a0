#ifndef MUSTER_OPERATOR_OBJECTS_VERDICTS_H_
#define MUSTER_OPERATOR_OBJECTS_VERDICTS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "operator/core/state/view.h"
#include "operator/objects/caches.h"

namespace muster::control {

// The scheduling cycle's reports to the controller about each job: where its pods are or why they
// have no place, and its queue's newest order. A changed reason to wait in the queue is reported
// with a delay: otherwise reconciles and writes would follow the clock and every other job of the
// queue. Thread-safe.
class Verdicts {
 public:
  // Calls `on_change` with the key of a job about which there is something new, without locks held.
  explicit Verdicts(std::function<void(const std::string& job_key)> on_change);

  void Set(absl::Time now, const TrainingJob& job, PlacementView verdict);
  // Reports the delayed reasons to wait whose time has come.
  void PublishDelayed(absl::Time now);
  // Sets the queue's order, timed at `wall`, or just after the job's last order if that is later.
  void SetOrder(const TrainingJob& job, QueueOrder order, absl::Time wall);
  // Returns the verdict with the order; empty if nothing has been reported.
  PlacementView Of(const std::string& job_uid) const;
  // Returns an order that the job's status does not show yet.
  std::optional<QueueOrder> PendingOrder(const TrainingJob& job) const;
  // Drops the verdicts of jobs that are gone.
  void Forget(const JobCache& jobs);

 private:
  struct Known {
    PlacementView verdict;
    absl::Time published_at = absl::InfinitePast();
  };
  struct Delayed {
    std::string key;
    PlacementView verdict;
  };
  enum class News { kNow, kLater, kNone };

  static News ClassifyNews(absl::Time now, const Known& known, const PlacementView& verdict);
  void Publish(const std::string& key, const PlacementView& verdict) const;

  const std::function<void(const std::string&)> on_change_;
  mutable Mutex mu_;
  absl::flat_hash_map<std::string, Known> known_ MUSTER_GUARDED_BY(mu_);  // by job UID
  std::map<std::string, Delayed> delayed_ MUSTER_GUARDED_BY(mu_);         // by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_VERDICTS_H_
