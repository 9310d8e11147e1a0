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

// Undoes gangs that are bound in part, have never run as they are, and cannot: after a while
// without progress their bound pods are deleted, and the replacements wait for the whole gang. Only
// gangs that were touched and those bound in part are looked at. Not thread-safe.
class PartialBindRollback {
 public:
  explicit PartialBindRollback(absl::Duration undo_after) : undo_after_(undo_after) {}

  // The job's object, its pods, or the writes about them may have changed.
  void Touch(const std::string& job_uid) { open_.insert(job_uid); }
  // Returns the number of gangs undone.
  int Undo(absl::Time now, const ClusterModel& model, const JobCache& jobs,
           const Verdicts& verdicts, BindTracker& writes);
  // Returns the number of gangs looked at so far.
  int64_t checks() const { return count_; }

 private:
  struct Look {
    // The time since which the gang is bound in part without progress, and its confirmed pods then.
    absl::Time partial_since = absl::InfiniteFuture();
    int confirmed = 0;
    uint64_t whole_version = 0;  // the gang's version at which every member was bound
  };

  // Returns true if the gang has been bound in part for too long.
  bool IsDue(absl::Time now, const Gang& gang, const JobCache::Object& job, Look& look) const;

  const absl::Duration undo_after_;
  std::set<std::string> open_;         // to be looked at, by job UID
  std::map<std::string, Look> looks_;  // by job UID
  int64_t count_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_PARTIAL_BIND_ROLLBACK_H_
