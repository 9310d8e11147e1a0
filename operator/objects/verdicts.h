#ifndef MUSTER_OPERATOR_OBJECTS_VERDICTS_H_
#define MUSTER_OPERATOR_OBJECTS_VERDICTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "operator/core/view.h"
#include "operator/objects/caches.h"

namespace muster::control {

// What the scheduling cycle has to say to the controller about each job: where its pods are or why
// they are nowhere, and its queue's newest order. What changes about why a job waits in its queue
// is not told anew at once: reconciles and writes would follow the clock and every other job of the
// queue. Thread-safe.
class Verdicts {
 public:
  // Told the key of a job about which something new is known, without locks held.
  explicit Verdicts(std::function<void(const std::string& job_key)> on_change);

  void Set(absl::Time now, const TrainingJob& job, PlacementView verdict);
  // Other reasons to wait that were kept back, those whose time has come.
  void TellKeptBack(absl::Time now);
  // What the queue wants. `wall` is made later than every order of this job before.
  void Give(const TrainingJob& job, QueueOrder order, absl::Time wall);
  // With the order; empty when nothing has been said.
  PlacementView Of(const std::string& job_uid) const;
  // One that the job's status does not show yet.
  std::optional<QueueOrder> PendingOrder(const TrainingJob& job) const;
  // Drops what is known of jobs that are gone.
  void Forget(const JobCache& jobs);

 private:
  struct Known {
    PlacementView verdict;
    absl::Time told_at = absl::InfinitePast();
  };
  struct KeptBack {
    std::string key;
    PlacementView verdict;
  };
  enum class News { kNow, kLater, kNone };

  static News Judge(absl::Time now, const Known& known, const PlacementView& verdict);
  void Tell(const std::string& key, const PlacementView& verdict) const;

  const std::function<void(const std::string&)> on_change_;
  mutable Mutex mu_;
  absl::flat_hash_map<std::string, Known> known_ MUSTER_GUARDED_BY(mu_);  // by job UID
  std::map<std::string, KeptBack> kept_back_ MUSTER_GUARDED_BY(mu_);      // by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_VERDICTS_H_
