#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_PARTIAL_BIND_ROLLBACK_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_PARTIAL_BIND_ROLLBACK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "operator/objects/caches.h"
#include "operator/objects/verdicts.h"
#include "operator/scheduler/bind/bind_tracker.h"
#include "operator/scheduler/cluster/cluster_model.h"

namespace muster::control {

// Gangs that are bound in part, have never run as they are, and cannot: after a while without
// getting on, their bound pods are deleted, and the replacements wait for the whole gang. Only
// those are looked at that something happened to, and those that are half. Not thread-safe.
class HalfGangs {
 public:
  explicit HalfGangs(absl::Duration undo_after) : undo_after_(undo_after) {}

  // Something of the job may have changed: its object, its pods, what is being written of them.
  void Touch(const std::string& job_uid) { open_.insert(job_uid); }
  // Returns how many were given up.
  int Undo(absl::Time now, const ClusterModel& model, const JobCache& jobs,
           const Verdicts& verdicts, GangWrites& writes);
  // Gangs that were looked at, ever.
  int64_t looks() const { return count_; }

 private:
  struct Look {
    // Since when it is bound in part without getting on, and how far it had got.
    absl::Time half_since = absl::InfiniteFuture();
    int confirmed = 0;
    uint64_t whole_version = 0;  // every member of it was seen to be bound
  };

  // Whether its time is up.
  bool IsDue(absl::Time now, const Gang& gang, const JobCache::Object& job, Look& look) const;

  const absl::Duration undo_after_;
  std::set<std::string> open_;         // to be looked at, by job UID
  std::map<std::string, Look> looks_;  // by job UID
  int64_t count_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_PARTIAL_BIND_ROLLBACK_H_
